"""A program that trains by cuBLAS, cuRAND and NCCL, without a GPU: it learns, and its bugs are found."""
import re

import ddpscope
import launch
import pytest
from test_recorded import expect_place, recorded

RANKS, STEPS = 2, 60
everywhere = pytest.mark.parametrize("seed", ddpscope.SEEDS)


def losses(text):
    """Rank to its first and its last loss."""
    found = {}
    for rank, loss in re.findall(r"rank (\d+) step \d+ loss ([\d.]+)", text):
        found.setdefault(int(rank), []).append(float(loss))
    return found


@everywhere
def test_healthy(tmp_path, seed):
    done, trace = recorded(launch.trainer("cublas_training", RANKS, STEPS), tmp_path)
    assert done.code == 0, done.stdout + done.stderr
    assert "is not provided" not in done.stderr and "no CPU body" not in done.stderr, done.stderr
    by_rank = losses(done.stdout)
    assert sorted(by_rank) == list(range(RANKS)), done.stdout
    for first, last in by_rank.values():
        assert last < first / 4, by_rank
    report = ddpscope.report(trace)
    assert report["findings"] == []


@everywhere
def test_a_rank_that_skips_its_reductions(tmp_path, seed):
    skipping = ddpscope.draw(seed, "cublas_training skip").randrange(RANKS)
    command = launch.trainer("cublas_training", RANKS, STEPS, "skip", skipping, patience=launch.SHORT)
    done, trace = recorded(command, tmp_path)
    assert done.code == 1, done.stdout + done.stderr
    finding = ddpscope.only_finding(trace, "hung-collective")
    assert finding["ranks"] == [skipping]
    expect_place(finding, 1 - skipping, "cublas_training.cu", "ncclAllReduce(second_gradient")


@everywhere
def test_ranks_that_never_reduce(tmp_path, seed):
    done, trace = recorded(launch.trainer("cublas_training", RANKS, STEPS, "never"), tmp_path)
    assert done.code == 0, done.stdout + done.stderr
    assert ddpscope.only_finding(trace, "missing-gradient-sync")["ranks"] == list(range(RANKS))
