"""Two hosts that are started with a wrong number: two processes claim one rank, and the report names both."""
import os
import pathlib
import signal
import sys
import time

import ddpscope
import hosts
import pytest
import trainer
from ports import free_port
from several_hosts import pair, train  # noqa: F401  (a fixture)

SCRIPT = pathlib.Path(__file__).parents[1] / "torch" / "jobs" / "prepared_once.py"
each_size = pytest.mark.parametrize("ranks_per_host", [1, 2, 4])


def numbers_given(ranks_per_host):
    """The last process is given the number of the one before it; alone on its host, that of the other host's."""
    return lambda rank: {"RANK": str(rank - 1)} if rank == 2 * ranks_per_host - 1 else {}


def assert_named(trace, ranks_per_host):
    """Only this is found, with the two processes that claim one rank and the number that nobody has."""
    last = 2 * ranks_per_host - 1
    finding = ddpscope.only_finding(trace, "rank-mismatch")
    assert finding["ranks"] == [last - 1] and f"nobody joins as rank {last}" in finding["title"]
    processes = {step["process"] for step in finding["evidence"]}
    assert len(processes) == len(finding["evidence"]) == 2 and all(process in finding["title"] for process in processes)
    assert {process.split(":")[0] for process in processes} == ({"host0", "host1"} if ranks_per_host == 1 else {"host1"})
    assert {step["detail"].split("; ")[1] for step in finding["evidence"]} == {f"its RANK is {last - 1}"}


def wait_until_all_announced(trace, count):
    """As many processes have told the store their number, and the second of two needs a moment to be seen with it."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        time.sleep(1)
        told = ddpscope.start([ddpscope.DDPSCOPE, "dump", trace], trace.parent).stdout if trace.exists() else ""
        if sum("default_pg" in line and "rank_" in line and "operation=set" in line for line in told.splitlines()) == count:
            return time.sleep(1)
    raise AssertionError("not all processes have come to the store")


@each_size
def test_a_rank_given_twice_on_gloo(tmp_path, pair, ranks_per_host):  # noqa: F811
    """The others wait for the number that nobody has, until someone loses patience."""
    trace = tmp_path / "trace"
    job = [host.start([ddpscope.DDPSCOPE, "run", "-o", trace, "--", sys.executable, SCRIPT, pair[0].shared / "data"],
                      env={"OMP_NUM_THREADS": "1", **variables})
           for host, variables in hosts.ranks(pair, ranks_per_host, free_port(), numbers_given(ranks_per_host))]
    try:
        wait_until_all_announced(trace, 2 * ranks_per_host)
        for process in job:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        assert all(done.code for done in hosts.finish(job)), "nobody can have trained"
    finally:
        hosts.kill(job)
    assert_named(trace, ranks_per_host)


# With a rank a host both would be rank 0 of a group of their own, and never meet.
@pytest.mark.parametrize("ranks_per_host", [2, 4])
def test_a_rank_given_twice_on_nccl(tmp_path, pair, ranks_per_host):  # noqa: F811
    draw, trace = trainer.Draw(1, "rank twice", 2 * ranks_per_host), tmp_path / "trace"
    ended = train(pair, draw, pair[0].shared / "job", trace, environment=numbers_given(ranks_per_host))
    assert all(done.code for done in ended), "nobody can have trained"
    assert_named(trace, ranks_per_host)
