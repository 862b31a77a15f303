"""Ranks that do not come: NCCL's watchdog ends the job after some seconds, and the report says who is missing."""
import ddpscope
import pytest
import wheel
from nccl_jobs import Job, expect_finding, expect_nothing_found, record

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
both = pytest.mark.parametrize("ranks", [2, 4])
mostly = pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])


def stuck(seed, ranks, how):
    rng = ddpscope.draw(seed, f"cuda/stuck/{how}/{ranks}")
    rank = rng.randrange(ranks)
    return rank, Job("stuck_rank.py", ["--how", how, "--rank", rank, "--at", rng.randrange(2, 5)], ranks)


@both
@pytest.mark.parametrize("how, inside", [("sleeps", "inside clock_nanosleep"), pytest.param("leaves", "exited with 0", marks=pytest.mark.long)])
def test_a_rank_does_not_come(tmp_path, ranks, how, inside, seed):
    rank, job = stuck(seed, ranks, how)
    trace = record(job, tmp_path, code=None)
    finding = expect_finding(trace, "hung-collective", [rank], job.script, "dist.all_reduce(gradient)")
    assert f"rank {rank} never " in finding["title"], finding["title"]
    assert inside in finding["title"], finding["title"]


@both
@pytest.mark.long
def test_a_rank_gathers_more(tmp_path, ranks, seed):
    """PyTorch 2.15 makes a gather of NCCL's broadcasts, one a rank, which all differ."""
    rank, job = stuck(seed, ranks, "gathers")
    finding = expect_finding(record(job, tmp_path, code=None), "mismatched-collective", [rank], job.script, "dist.all_gather(metrics")
    if wheel.has_older_group():
        assert finding["count"] == 1 and "all-gather" in finding["title"], finding
        return
    assert finding["count"] == ranks, finding
    assert any("for PyTorch's c10d_allgather" in step["detail"] for step in finding["evidence"]), finding


@both
@pytest.mark.long
def test_all_ranks_come(tmp_path, ranks, seed):
    expect_nothing_found(record(stuck(seed, ranks, "no")[1], tmp_path), ranks)


def uneven(seed, ranks, how):
    rng = ddpscope.draw(seed, f"cuda/uneven/{how}/{ranks}")
    short = rng.randrange(ranks)
    return short, Job("uneven_batches.py", ["--how", how, "--short", short, "--batches", rng.randrange(5, 9)], ranks)


@mostly
def test_a_rank_has_a_batch_less(tmp_path, ranks, seed):
    """It runs the barrier behind the epoch, while the others reduce one more bucket."""
    short, job = uneven(seed, ranks, "nothing")
    finding = expect_finding(record(job, tmp_path, code=None), "uneven-steps", [short], job.script, "loss.backward()", "error")
    line = ddpscope.line_of(job.path, "dist.barrier()  # the end of the epoch")
    assert any(f"{job.script}:{line} " in frame for frame in ddpscope.frames(finding, short)), finding


@both
@pytest.mark.long
def test_a_batch_less_that_nobody_waits_for(tmp_path, ranks, seed):
    """The others give up their last step behind PyTorch's time limit, or when NCCL says that a rank is gone."""
    short, job = uneven(seed, ranks, "unnoticed")
    if wheel.has_older_group():  # they wait in ncclCommFinalize, until PyTorch misses the watchdog's heartbeat
        job.environment["TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"] = "30"
        expect_finding(record(job, tmp_path, code=None), "hung-collective", [short], job.script, "loss.backward()", "error")
        return
    odd = [short] if ranks > 2 else range(ranks)
    finding = expect_finding(record(job, tmp_path, code=None), "mismatched-collective", odd, job.script, "loss.backward()", "error")
    assert "gives up" in finding["title"] or "give up" in finding["title"], finding["title"]


@mostly
@pytest.mark.parametrize("how", ["join", pytest.param("drop", marks=pytest.mark.long)])
def test_a_batch_less_that_is_dealt_with(tmp_path, ranks, how, seed):
    expect_nothing_found(record(uneven(seed, ranks, how)[1], tmp_path), ranks)
