"""A PyTorch job whose ranks train on the same clips, for want of a sampler: found by what loader workers read."""
import ddpscope
import pytest
from jobs import SCRIPTS, Job, make_clips, run_recorded


@pytest.mark.parametrize("reduced_by", ["wrapper", pytest.param("program", marks=pytest.mark.long)])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_no_sampler(tmp_path, seed, reduced_by):
    rng = ddpscope.draw(seed, f"unsharded by {reduced_by}")
    ranks = rng.choice([2, 3, 4])
    clips, samples = 4 * rng.randrange(12, 20), rng.randrange(300, 900)
    job = Job("train_speech.py", ranks=ranks, arguments=[
        "corpus", "--num-workers", rng.choice([1, 2]), "--seed", rng.randrange(100000),
        *(["--no-wrapper"] if reduced_by == "program" else [])])
    trace = run_recorded(job, tmp_path, make_data=lambda folder: make_clips(folder / "corpus", clips, samples, seed))

    finding = ddpscope.only_finding(trace, "unsharded-sampler")
    line = ddpscope.line_of(SCRIPTS / "train_speech.py", '"wavs", name), "rb")')
    assert all("corpus/wavs/clip" in step["file"] for step in finding["evidence"] if step.get("file"))
    assert any(f"train_speech.py:{line} Clips.__getitem__" in frame
               for rank in range(ranks) for frame in ddpscope.frames(finding, rank))
    assert finding["ranks"] == list(range(ranks)) and finding["confidence"] == "certain"


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_a_data_set_that_ignores_the_index(tmp_path, seed):
    rng = ddpscope.draw(seed, "ignored-index")
    ranks = rng.choice([2, 3, 4])
    job = Job("voice_cloning.py", ranks=ranks, arguments=[
        "corpus", "--workers", rng.choice([0, 1]), "--seed", rng.randrange(100000)])
    trace = run_recorded(job, tmp_path, make_data=lambda folder: make_clips(folder / "corpus", 40 * ranks, 400, seed))

    finding = ddpscope.only_finding(trace, "unsharded-sampler")
    line = ddpscope.line_of(SCRIPTS / "voice_cloning.py", 'with open(clip, "rb")')
    assert any(f"voice_cloning.py:{line} Voices.__getitem__" in frame
               for rank in range(ranks) for frame in ddpscope.frames(finding, rank))
    assert finding["ranks"] == list(range(ranks))


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_replicas_beside_ranks_that_share_a_model(tmp_path, seed):
    rng = ddpscope.draw(seed, "grid")
    job = Job("grid_trainer.py", ranks=4, arguments=[tmp_path / "corpus", "--same", "--epochs", 1, "--workers", rng.choice([0, 1])])
    make_clips(tmp_path / "corpus", 96, 400, seed)
    finding = ddpscope.only_finding(run_recorded(job, tmp_path), "unsharded-sampler")
    assert finding["ranks"] == [0, 1, 2, 3]
    assert "ranks 0 and 2, and likewise ranks 1 and 3," in finding["title"]
    line = ddpscope.line_of(SCRIPTS / "grid_trainer.py", 'with open(self.files[i], "rb")')
    assert any(f"grid_trainer.py:{line} Clips.__getitem__" in frame for frame in ddpscope.frames(finding, 0))
