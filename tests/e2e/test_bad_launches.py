"""Two hosts that are started with a wrong number: two processes claim one rank, and the report names both."""
import os
import pathlib
import re
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


def wait_until_all_announced(trace, count, key=r"default_pg.*rank_"):
    """As many processes have told the store their number, and the second of two needs a moment to be seen with it."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        time.sleep(1)
        told = ddpscope.start([ddpscope.DDPSCOPE, "dump", trace], trace.parent).stdout if trace.exists() else ""
        if len(re.findall(f"{key}.*operation=set", told)) == count:
            return time.sleep(1)
    raise AssertionError("not all processes have come to the store")


def end_when_announced(job, trace, count, *key):
    try:
        wait_until_all_announced(trace, count, *key)
        for process in job:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        assert all(done.code for done in hosts.finish(job)), "nobody can have trained"
    finally:
        hosts.kill(job)


@each_size
def test_a_rank_given_twice_on_gloo(tmp_path, pair, ranks_per_host):  # noqa: F811
    """The others wait for the number that nobody has, until someone loses patience."""
    trace = tmp_path / "trace"
    job = [host.start([ddpscope.DDPSCOPE, "run", "-o", trace, "--", sys.executable, SCRIPT, pair[0].shared / "data"],
                      env={"OMP_NUM_THREADS": "1", **variables})
           for host, variables in hosts.ranks(pair, ranks_per_host, free_port(), numbers_given(ranks_per_host))]
    end_when_announced(job, trace, 2 * ranks_per_host)
    assert_named(trace, ranks_per_host)


@pytest.mark.parametrize("nodes", [2, 3])
def test_a_node_rank_given_twice_to_torchrun(tmp_path, nodes):
    """The last host is started with the number of the one before it: no rank starts, all agents wait."""
    trace, port = tmp_path / "trace", free_port()
    with hosts.hosts(nodes, tmp_path / "hosts", skews=[hosts.Skew(monotonic_s=300 * number) for number in range(nodes)]) as many:
        job = [host.start([ddpscope.DDPSCOPE, "run", "-o", trace, "--", sys.executable, "-m", "torch.distributed.run",
                           "--nnodes", nodes, "--node_rank", min(host.number, nodes - 2), "--master_addr", many[0].address,
                           "--master_port", port, "-r", "1", "-t", "1", "--nproc_per_node", 2, SCRIPT, many[0].shared / "data"])
               for host in many]
        end_when_announced(job, trace, nodes, "torchelastic/role_info")
    finding = ddpscope.only_finding(trace, "rank-mismatch")
    assert f"as node rank {nodes - 2}; nobody joins as node rank {nodes - 1}" in finding["title"], finding["title"]
    assert {step["process"].split(":")[0] for step in finding["evidence"]} == {f"host{nodes - 2}", f"host{nodes - 1}"}


@pytest.mark.parametrize("ranks_per_host", [2, 4])
def test_a_rank_given_twice_on_nccl(tmp_path, pair, ranks_per_host):  # noqa: F811
    draw, trace = trainer.Draw(1, "rank twice", 2 * ranks_per_host), tmp_path / "trace"
    ended = train(pair, draw, pair[0].shared / "job", trace, environment=numbers_given(ranks_per_host))
    assert all(done.code for done in ended), "nobody can have trained"
    assert_named(trace, ranks_per_host)


def test_the_first_rank_twice_on_nccl(tmp_path, pair):  # noqa: F811
    """Each draws an id and waits for the other: no communicator is asked for, and nothing can be judged."""
    draw, trace = trainer.Draw(1, "first rank twice", 2), tmp_path / "trace"
    ended = train(pair, draw, pair[0].shared / "job", trace, environment=numbers_given(1))
    assert all(done.code for done in ended), "nobody can have trained"
    told = ddpscope.start([ddpscope.DDPSCOPE, "report", trace], tmp_path)
    assert told.code == 2 and re.search(r"host0:\d+ and host1:\d+ both have RANK 0", told.stderr), told.stderr
