"""A job that `accelerate launch` starts: unchanged and silent, and found where nobody waits for what the main process writes."""
import ddpscope
import pytest
from jobs import SAMPLES, Job, expect_nothing_found, expect_race, run_recorded, run_twice

pytest.importorskip("accelerate")
# accelerate 0.22 is of that time.
pytestmark = [pytest.mark.parametrize("seed", ddpscope.SEEDS), pytest.mark.oldest]


def job(rng, *more):
    ranks = rng.choice([2, 3])
    return Job("accelerated.py", ranks=ranks, launcher="accelerate", arguments=[
        f"statistics{rng.randrange(100)}.pt", "--samples", ranks * 4 * rng.randrange(4, 8), "--seed", rng.randrange(1000), *more])


def test_a_healthy_one(tmp_path, seed):
    healthy = job(ddpscope.draw(seed, "accelerate"))
    expect_nothing_found(run_twice(healthy, tmp_path), healthy.ranks, SAMPLES | {"uneven-steps"})


def test_one_in_which_nobody_waits(tmp_path, seed):
    rng = ddpscope.draw(seed, "accelerate-forget")
    forgetful = job(rng, "--forget", "--late", rng.choice([1, 1.5]))
    expect_race(run_recorded(forgetful, tmp_path), "accelerated.py", str(forgetful.arguments[0]), 0, "torch.save(",
                range(1, forgetful.ranks), "torch.load(")
