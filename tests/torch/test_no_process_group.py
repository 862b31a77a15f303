"""A PyTorch job that initialises its process group only where it sees several devices: every rank trains alone."""
import ddpscope
import pytest
from jobs import SCRIPTS, Job, make_clips, run_recorded

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)


def vocoder(seed, folder, *extra):
    rng = ddpscope.draw(seed, f"vocoder{extra}")
    ranks = rng.choice([2, 3])
    # Long enough that ranks which start half a second apart train at the same time.
    job = Job("train_vocoder.py", ranks=ranks, arguments=[
        "corpus", f"out{rng.randrange(100)}", "--epochs", rng.randrange(12, 17), "--num-workers", rng.choice([0, 1]),
        "--seed", rng.randrange(1000), *extra])
    clips = 4 * rng.randrange(36, 52)
    return ranks, run_recorded(job, folder, make_data=lambda folder: make_clips(folder / "corpus", clips, 400, seed))


def test_only_rank_0_saves(tmp_path, seed):
    ranks, trace = vocoder(seed, tmp_path)
    finding = ddpscope.only_finding(trace, "no-process-group")
    assert finding["ranks"] == list(range(ranks))
    # That they train shows only in what they read.
    assert (finding["severity"], finding["confidence"]) == ("warning", "likely")
    line = ddpscope.line_of(SCRIPTS / "train_vocoder.py", "torch.save({")
    assert f"train_vocoder.py:{line}" in finding["title"]
    assert any(f"train_vocoder.py:{line}" in frame for frame in ddpscope.frames(finding, 0))
    assert {step["rank"] for step in finding["evidence"]} == set(range(ranks))


def test_a_sweep_keeps_what_each_rank_trains(tmp_path, seed):
    _, trace = vocoder(seed, tmp_path, "--sweep")
    report = ddpscope.report(trace)
    assert report["findings"] == []
    assert any("no-process-group" in row["unjudged"] for row in report["coverage"])
