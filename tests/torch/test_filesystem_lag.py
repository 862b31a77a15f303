"""A file that shows late on another mount, in a job on Gloo that looks until it is there."""
import os

import caching_mount
import ddpscope
import jobs
import pytest

JOB = "looks_until_there.py"
everywhere = pytest.mark.parametrize("ranks, seed", [(ranks, seed) for ranks in (2, 4) for seed in ddpscope.SEEDS])


def run(tmp_path, ranks, seed, keep_s):
    """All but rank 0 through a mount that keeps what it knows; returns the trace and the manifest's name."""
    rng = ddpscope.draw(seed, f"looks_until_there/{ranks}")
    folder, name = rng.choice(["data", "prep"]), rng.choice(["manifest.json", "train.json"])
    (tmp_path / "backing" / folder).mkdir(parents=True)
    with caching_mount.mounted(tmp_path / "backing", tmp_path / "here") as here, \
            caching_mount.mounted(tmp_path / "backing", tmp_path / "there", keep_s=keep_s) as there:
        os.path.exists(there / folder / name)  # from here on the mount knows that there is none
        job = jobs.Job(JOB, [here / folder, there / folder, "--name", name], ranks)
        return jobs.run_recorded(job, tmp_path), name


@everywhere
def test_shown_late(tmp_path, ranks, seed):
    trace, name = run(tmp_path, ranks, seed, caching_mount.FOR_EVER)
    finding = ddpscope.only_finding(trace, "filesystem-lag")
    assert finding["severity"] == "warning" and finding["confidence"] == "certain"
    # The first to list the folder makes the mount ask anew: for all that look through it, who may then find it at once.
    assert finding["ranks"][0] == 0 and len(finding["ranks"]) >= 2
    look, write = (f"{JOB}:{ddpscope.line_of(jobs.SCRIPTS / JOB, text)} "
                   for text in ("while not os.path.exists(path)", 'with open(manifest, "w")'))
    assert any(write in frame for frame in ddpscope.frames(finding, 0))
    for rank in finding["ranks"][1:]:
        assert any(look in frame for frame in ddpscope.frames(finding, rank))
    shown = [step["rank"] for step in finding["evidence"] if step["detail"].startswith("shows it, between")]
    assert shown and 0 not in shown, finding["evidence"]
    assert all(name in step["file"] for step in finding["evidence"] if step.get("file"))


@everywhere
def test_two_mounts_in_time(tmp_path, ranks, seed):
    trace, _ = run(tmp_path, ranks, seed, 0)
    jobs.expect_nothing_found(trace, ranks, jobs.SAMPLES | jobs.FILES)
