"""Time that a job loses: a rank that is late, communication that nothing hides. Link and ranks are as slow as they say."""
import ddpscope
import pytest
from nccl_jobs import Job, expect_finding, expect_nothing_found, record

pytestmark = [pytest.mark.parametrize("seed", ddpscope.SEEDS), pytest.mark.long]
both = pytest.mark.parametrize("ranks", [2, 4])


def late(seed, ranks, how, *arguments):
    rng = ddpscope.draw(seed, f"cuda/late/{how}/{arguments}/{ranks}")
    rank = rng.randrange(ranks)
    return rank, Job("late_rank.py", ["--late", how, "--rank", rank, "--seconds", 0.15, "--steps", 90, *arguments], ranks,
                     launcher="loop")


@both
@pytest.mark.parametrize("how", ["input", "compute"])
@pytest.mark.parametrize("norm", [[], ["--norm"]], ids=["", "norm"])
def test_a_rank_is_late(tmp_path, ranks, how, norm, seed):
    """With batch normalisation others may wait in the broadcast of its buffers. A busy machine costs some of the steps, of which
    50 are needed."""
    rank, job = late(seed, ranks, how, *norm)
    expect_finding(record(job, tmp_path), "straggler", [rank], job.script)


@both
def test_nobody_is_late(tmp_path, ranks, seed):
    expect_nothing_found(record(late(seed, ranks, "nobody")[1], tmp_path), ranks)


@both
def test_gradients_are_averaged_when_all_is_over(tmp_path, ranks, seed):
    """The backward pass is long enough to hide much, however fast the machine is."""
    job = Job("averaged_by_hand.py", ["--steps", 24, "--layers", 6, "--width", 512, "--batch", 256], ranks, launcher="loop",
              environment={"STANDIN_LINK": "20us,100MB/s"})
    expect_finding(record(job, tmp_path), "exposed-communication", range(ranks), job.script, "dist.all_reduce(param.grad.data", "info")
