"""Healthy ways to train that resemble a mistake with gradients, steps or collectives: nothing is found."""
import ddpscope
import pytest
from jobs import Job, expect_nothing_found, run_recorded

# All that such a job may leave open: its batches are drawn, and the program may exchange gradients or parameters by itself.
SAMPLES = {"unsharded-sampler", "repeated-epoch-order", "uneven-steps"}
BY_HAND = {"local-sgd", "wrapped-local-sgd", "parameter-server"}


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("way", [
    "gan", "join", pytest.param("fsdp2", marks=[pytest.mark.newest, pytest.mark.long]),
    *(pytest.param(way, marks=pytest.mark.long) for way in ("wrapped-local-sgd", "parameter-server", "accumulation", "wrapped-anew", "probe", "static-graph", "evaluation-on-rank-0", "zero", "in-turn",
                                                             "moving-average", "clipping", "several-models", "unused", "local-sgd"))])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_nothing_is_found(tmp_path, way, ranks, seed):
    job = Job("ways_to_train.py", ["--way", way], ranks, launcher="loop")
    left_open = SAMPLES | ({"missing-gradient-sync", "redundant-accumulation-sync"} if way in BY_HAND | {"fsdp2"} else set())
    expect_nothing_found(run_recorded(job, tmp_path), ranks, left_open)
