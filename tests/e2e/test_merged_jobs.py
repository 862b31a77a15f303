"""Merged files, and pictures of them, of jobs on several hosts, of device work and ranges, and of a job that still runs."""
import os
import re
import signal

import ddpscope
import live_jobs
import pytest
import trainer
from merged import assert_every_call_is_there, command
from several_hosts import assert_trained, pair, train  # noqa: F401  (a fixture)

VIEWER = ddpscope.BUILD / "bin" / "ddpscope-viewer"
ACCUMULATE = ddpscope.BUILD / "bin" / "programs" / "accumulate"
seeds = pytest.mark.parametrize("seed", ddpscope.SEEDS)


def merge(trace, folder):
    merged = folder / "job.merged"
    command("export", trace, "--format", "merged", "-o", merged)
    return merged


def assert_can_be_seen(trace, folder):
    if VIEWER.exists():
        command("view", trace, "--screenshot", folder / "a.png", "--size", "800x600")
        assert (folder / "a.png").read_bytes()[:4] == b"\x89PNG"


@seeds
@pytest.mark.parametrize("ranks_per_host", [1, 4])
def test_several_hosts(tmp_path, pair, ranks_per_host, seed):  # noqa: F811
    draw, trace = trainer.Draw(seed, "merged hosts", 2 * ranks_per_host), tmp_path / "trace"
    assert_trained(train(pair, draw, pair[0].shared / "job", trace))
    merged = merge(trace, tmp_path)
    assert_every_call_is_there(trace, merged, least=1000)
    info = command("info", merged).stdout
    assert re.search(r"^host +host0 .*\nhost +host1 ", info, re.M), info
    communicators = re.findall(rf"^communicator .*, {draw.ranks} of {draw.ranks} members, (\d+) collectives", info, re.M)
    assert communicators and all(int(count) > 10 for count in communicators), info
    assert_can_be_seen(trace, tmp_path)


@seeds
@pytest.mark.parametrize("ranks", [2, 4])
def test_device_work_and_ranges(tmp_path, ranks, seed):
    """By CUPTI: kernels (NCCL's too), copies, fills. A range of NVTX is one event, from its push to its pop."""
    steps, trace = ddpscope.draw(seed, "merged cupti").randrange(4, 9), tmp_path / "trace"
    loop = f"for r in $(seq 0 {ranks - 1}); do RANK=$r WORLD_SIZE={ranks} LOCAL_RANK=$r {ACCUMULATE} id {steps} 2 last range & done; wait"
    command("run", "--cpu", "--gpu-timing", "cupti", "-o", trace, "--", "sh", "-c", loop, cwd=tmp_path)
    merged = merge(trace, tmp_path)
    of_merged = command("dump", merged).stdout

    assert_every_call_is_there(trace, merged, least=100 * ranks)
    work = re.findall(r"^\S+ \S+ \S+ rank \d+ gpu (\w+)", of_merged, re.M)
    assert len(work) > 100 * ranks and set(work) >= {"kernel", "copy_to_device", "copy_to_host", "fill"}
    for rank in range(ranks):
        ranges = re.findall(rf'^\S+ \+(\d+)ns \S+ rank {rank} thread \d+ nvtxRange.* name="optimizer step"', of_merged, re.M)
        assert len(ranges) == steps and all(int(ns) > 0 for ns in ranges), ranges
    assert_can_be_seen(trace, tmp_path)


@seeds
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_job_that_still_runs(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "merged running", ranks)
    draw.epochs, draw.timeout = 200, 1000
    words = [trainer.TRAINER, *draw.arguments(), "--workdir", tmp_path / "out"]
    with live_jobs.running(words, tmp_path, "--cpu") as job:
        live_jobs.wait_for(lambda: live_jobs.status(tmp_path).stdout.startswith("running"), job)
        live_jobs.stop(job, tmp_path)  # so that all look at the same
        merged = merge(tmp_path / "trace", tmp_path)
        assert_every_call_is_there(tmp_path / "trace", merged, least=100)
        assert "while the job still ran" in command("info", merged).stdout
        assert_can_be_seen(tmp_path / "trace", tmp_path)
        os.killpg(job.pid, signal.SIGCONT)
        live_jobs.wait_for(lambda: live_jobs.status(tmp_path).stdout.startswith("running"), job)
        for _ in range(3):  # what grows is merged again, and can always be seen
            assert_can_be_seen(tmp_path / "trace", tmp_path)
