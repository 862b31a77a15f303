"""Training whose steps are CUDA graphs: nothing is found in a healthy one, what cannot be told is said, and what goes wrong
beside the graphs, or because one is not launched, is found."""
import re

import ddpscope
import launch
import pytest
from test_recorded import SOURCES, expect_place, recorded

everywhere = pytest.mark.parametrize("ranks, seed", [(ranks, seed) for ranks in (2, 4) for seed in ddpscope.SEEDS])
STEPS = 100
GRADIENTS = {"missing-gradient-sync", "redundant-accumulation-sync"}


def unjudged(report):
    return {slug for row in report["coverage"] for slug in row["unjudged"]}


@everywhere
@pytest.mark.parametrize("where", ["inside", "outside", "accumulate"])
def test_healthy(tmp_path, where, ranks, seed):
    done, trace = recorded(launch.trainer("graph_training", ranks, STEPS, where), tmp_path)
    assert done.code == 0, done.stdout + done.stderr
    report = ddpscope.report(trace)
    assert report["findings"] == []
    assert unjudged(report) & GRADIENTS, report["coverage"]


@everywhere
def test_a_checkpoint_that_all_write(tmp_path, ranks, seed):
    done, trace = recorded(launch.trainer("graph_training", ranks, STEPS, "inside", "copies"), tmp_path)
    assert done.code == 0, done.stdout + done.stderr
    finding = ddpscope.only_finding(trace, "duplicate-checkpoint-write")
    assert finding["ranks"] == list(range(ranks))
    expect_place(finding, 0, "graph_training.cu", "std::ofstream(\"checkpoint.bin\"")


@everywhere
def test_a_rank_that_launches_its_graph_less_often(tmp_path, ranks, seed):
    rng = ddpscope.draw(seed, f"graph_training/{ranks}")
    first, step = rng.randrange(ranks), rng.randrange(10, 50)
    command = launch.trainer("graph_training", ranks, STEPS, "inside", "fewer", first, step, patience=launch.SHORT)
    done, trace = recorded(command, tmp_path)
    assert done.code == 1
    finding = ddpscope.only_finding(trace, "hung-collective")
    assert finding["ranks"] == [first]
    assert any(step["call"] == "cudaGraphLaunch" for step in finding["evidence"]), finding["evidence"]


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_a_rank_that_captures_another_count(tmp_path, seed):
    """The line is that of the call that was captured, and of the launch that runs it."""
    ranks = 4
    odd = ddpscope.draw(seed, "graph_training half").randrange(ranks)
    command = launch.trainer("graph_training", ranks, STEPS, "inside", "half", odd, patience=launch.SHORT)
    done, trace = recorded(command, tmp_path)
    assert done.code == 1
    finding = ddpscope.only_finding(trace, "mismatched-collective")
    assert finding["ranks"] == [odd]
    captured, launched = (ddpscope.line_of(SOURCES / "graph_training.cu", text) for text in ("NCCL(ncclAllReduce(", "cudaGraphLaunch(exec"))
    assert re.search(rf"graph_training\.cu:{captured} .*, in the graph launched at graph_training\.cu:{launched} ", finding["title"])
    for text in ("NCCL(ncclAllReduce(", "cudaGraphLaunch(exec"):
        expect_place(finding, odd, "graph_training.cu", text)


@everywhere
@pytest.mark.parametrize("what", ["healthy", "skip"])
def test_reductions_in_a_conditional_body(tmp_path, what, ranks, seed):
    """How often it runs is decided on the device: nobody is accused of that, and the report says so."""
    odd = ddpscope.draw(seed, f"graph_training body/{ranks}").randrange(ranks)
    command = launch.trainer("graph_training", ranks, STEPS, "conditional", what, odd, patience=launch.SHORT)
    done, trace = recorded(command, tmp_path)
    assert done.code == (0 if what == "healthy" else 1), done.stdout + done.stderr
    report = ddpscope.report(trace)
    assert report["findings"] == []
    (row,) = [row for row in report["coverage"] if "bodies of conditional nodes" in row["why"]]
    assert row["what"] == f"collectives in graphs of {ranks} ranks" and {"hung-collective", *GRADIENTS} <= set(row["unjudged"])
