"""Healthy PyTorch jobs run unchanged under ddpscope, and nothing is found in them."""
import ddpscope
import pytest
from jobs import Job, make_tokens, run_twice
from ports import free_port

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)


def expect_silence(trace, ranks):
    report = ddpscope.report(trace)
    assert report["findings"] == []
    assert report["job"]["ranks"] == ranks
    assert report["job"]["dropped"] == 0


def test_rank_0_prepares_and_saves_between_barriers(tmp_path, seed):
    rng = ddpscope.draw(seed, "classifier")
    ranks = rng.choice([2, 3, 4])
    job = Job("train_classifier.py", ranks=ranks, arguments=[
        "--data", "data", "--out", f"runs/{rng.randrange(1000)}", "--samples", ranks * rng.randrange(24, 40),
        "--hidden", rng.randrange(32, 128), "--workers", rng.choice([1, 2]), "--seed", rng.randrange(1000)])
    expect_silence(run_twice(job, tmp_path), ranks)


def test_every_rank_saves_its_own_shard(tmp_path, seed):
    rng = ddpscope.draw(seed, "sharded")
    ranks = rng.choice([2, 3, 4])
    job = Job("sharded_save.py", ranks=ranks, arguments=[
        f"step-{rng.randrange(10000)}", rng.randrange(64, 160), rng.randrange(4, 12), rng.randrange(1000)])
    expect_silence(run_twice(job, tmp_path), ranks)


def test_spawned_ranks_and_workers_with_rotating_checkpoints(tmp_path, seed):
    rng = ddpscope.draw(seed, "spawn")
    ranks = rng.choice([2, 3])
    job = Job("spawn_regression.py", ranks=ranks, launcher=False, arguments=[
        f"checkpoints{rng.randrange(100)}", ranks, rng.randrange(3, 5), ranks * 6 * rng.randrange(3, 6),
        rng.randrange(48, 96), free_port()])
    expect_silence(run_twice(job, tmp_path), ranks)


def test_memory_mapped_tokens_accumulation_and_logs(tmp_path, seed):
    rng = ddpscope.draw(seed, "memmap")
    ranks = rng.choice([2, 3, 4])
    job = Job("lm_memmap.py", ranks=ranks, arguments=[
        "tokens.bin", "--run", f"run{rng.randrange(100)}", "--accumulate", rng.choice([2, 4]), "--seed",
        rng.randrange(1000)])
    trace = run_twice(job, tmp_path, lambda folder: make_tokens(folder / "tokens.bin", 20000, seed))
    expect_silence(trace, ranks)
