"""PyTorch on Gloo over two hosts, one `ddpscope run` a rank: what passes over its connections puts the hosts' clocks on one
line, and what ranks of both hosts do wrong together is found.
"""
import os
import pathlib
import re
import signal
import sys
import time

import clock_truth
import ddpscope
import hosts
import pytest
from ports import free_port
from several_hosts import assert_trained, sizes

TORCH = pathlib.Path(__file__).parents[1] / "torch"
sys.path.insert(0, str(TORCH))
from jobs import SCRIPTS, expect_nothing_found  # noqa: E402
from stores import make_store  # noqa: E402


def assert_aligned(trace, ranks):
    """Each rank offers every other one an address, when they join, and exits once."""
    clock_truth.assert_within_bound(trace, {"listen": ranks * (ranks - 1), "exit": ranks})


@pytest.fixture
def pair(tmp_path):
    skews = [hosts.Skew(), hosts.Skew(monotonic_s=300, drift_ppm=80, wall_s=1)]
    with hosts.hosts(2, tmp_path / "hosts", skews=skews) as two:
        yield two


def train(pair, ranks_per_host, seed, folder, sampler):
    """Returns the trace of a job whose ranks read clips from the file system that both hosts share."""
    rng, trace, ranks = ddpscope.draw(seed, f"gloo {sampler}"), folder / "trace", 2 * ranks_per_host
    make_store(pair[0].seen_from_outside(pair[0].shared) / "corpus", "raw", 48 * ranks, seed)
    command = [ddpscope.DDPSCOPE, "run", "-o", trace, "--", sys.executable, SCRIPTS / "kept_clips.py", pair[0].shared / "corpus",
               "--sampler", sampler, "--seed", rng.randrange(1000), "--workers", 0, "--epochs", 2]
    assert_trained(hosts.finish([host.start(command, env={"OMP_NUM_THREADS": "1", **variables})
                                 for host, variables in hosts.ranks(pair, ranks_per_host, free_port())], timeout=180))
    return trace


@sizes
def test_healthy(tmp_path, pair, ranks_per_host, seed):
    trace = train(pair, ranks_per_host, seed, tmp_path, "distributed")
    expect_nothing_found(trace, 2 * ranks_per_host)
    assert ddpscope.report(trace)["job"]["hosts"] == ["host0", "host1"]
    unjudged = {slug for row in ddpscope.report(trace)["coverage"] for slug in row["unjudged"]}
    assert not unjudged & {"skipped-barrier", "mismatched-collective", "hung-collective"}
    assert_aligned(trace, 2 * ranks_per_host)


@sizes
def test_without_a_sampler(tmp_path, pair, ranks_per_host, seed):
    trace = train(pair, ranks_per_host, seed, tmp_path, "none")
    finding = ddpscope.only_finding(trace, "unsharded-sampler")
    assert finding["ranks"] == list(range(2 * ranks_per_host))
    assert {step["process"].split(":")[0] for step in finding["evidence"]} == {"host0", "host1"}
    line = ddpscope.line_of(SCRIPTS / "kept_clips.py", "np.fromfile(")
    assert any(f"kept_clips.py:{line} Raw.load" in frame for frame in ddpscope.frames(finding, 0))
    assert_aligned(trace, 2 * ranks_per_host)


def status(host, trace):
    return hosts.finish([host.start([ddpscope.DDPSCOPE, "status", trace])])[0].stdout


@pytest.mark.long
@sizes
def test_a_hang_that_is_over(tmp_path, pair, ranks_per_host, seed):
    """Each `run` saw the threads of its own host: the rank that did not come is the other host's."""
    ranks, trace = 2 * ranks_per_host, tmp_path / "trace"
    rng = ddpscope.draw(seed, "gloo hang")
    rank = rng.randrange(ranks_per_host, ranks)
    command = [ddpscope.DDPSCOPE, "run", "-o", trace, "--", sys.executable, SCRIPTS / "halting_rank.py", "--halt", "read",
               "--rank", rank, "--at", rng.randrange(5, 40)]
    job = [host.start(command, env={"OMP_NUM_THREADS": "1", **variables})
           for host, variables in hosts.ranks(pair, ranks_per_host, free_port())]
    try:
        deadline = time.monotonic() + 90
        while not re.search("stuck for", told := status(pair[1], trace)):
            assert time.monotonic() < deadline and all(process.poll() is None for process in job), told
            time.sleep(0.5)
        time.sleep(3)  # looks at the threads, a second apart
        for process in job:
            os.killpg(process.pid, signal.SIGTERM)
        hosts.finish(job)
    finally:
        hosts.kill(job)
    finding = ddpscope.only_finding(trace, "hung-collective")
    assert finding["ranks"] == [rank]
    assert re.search(rf"wait.* for the all-reduce of .*; rank {rank} never came: it has been inside socket_read", finding["title"]), \
        finding["title"]
    assert {step["process"].split(":")[0] for step in finding["evidence"]} == {"host0", "host1"}
