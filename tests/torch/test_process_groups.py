"""Process groups that are made, destroyed and used in unusual ways, on PyTorch and Gloo."""
import signal

import ddpscope
import pytest
from jobs import SCRIPTS, Job, evidence_of, expect_nothing_found, run_recorded
from ports import free_port

pytestmark = [pytest.mark.parametrize("seed", ddpscope.SEEDS), pytest.mark.newest]
SCRIPT = SCRIPTS / "process_groups.py"


def job(way, ranks):
    return Job(SCRIPT.name, [way, free_port()], ranks, launcher="loop")


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("way", ["again", *(pytest.param(way, marks=pytest.mark.long) for way in ("apart", "reload", "local", "objects"))])
def test_nothing_is_found(tmp_path, way, ranks, seed):
    expect_nothing_found(run_recorded(job(way, ranks), tmp_path), ranks, {"unsharded-sampler", "repeated-epoch-order"})


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_group_that_one_rank_makes(tmp_path, ranks, seed):
    """PyTorch's names of groups are their numbers: the next one has two names, and all wait for half an hour."""
    ddpscope.record_and_signal(job("some", ranks).command(), tmp_path / "trace", tmp_path, signal.SIGTERM, seconds=15)
    finding = ddpscope.only_finding(tmp_path / "trace", "hung-collective")
    assert finding["ranks"] == ([1] if ranks == 2 else [0]), finding
    alone, all_of_them = (ddpscope.line_of(SCRIPT, text) for text in ("of rank 0 alone", "# of all"))
    assert f"rank 0 makes process group default_pg/0/1/cpu of 1 rank at {SCRIPT}:{alone} " in finding["title"], finding["title"]
    for rank in (0, 1):  # of the others Gloo may let some through, which wait in a later call
        assert any(f"{SCRIPT.name}:{all_of_them} " in frame for step in evidence_of(finding, rank) for frame in step["stack"]), finding
    assert "on all ranks and in the same order" in finding["advice"], finding
