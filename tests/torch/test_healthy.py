"""Healthy PyTorch jobs run unchanged under ddpscope, and nothing is found in them."""
import ddpscope
import pytest
from jobs import Job, expect_nothing_found, make_clips, make_shards, make_tokens, run_recorded, run_twice
from ports import free_port

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)


def expect_silence(trace, ranks, unjudged=()):
    """unjudged: (slug, part of the reason) of a row of coverage."""
    report = ddpscope.report(trace)
    assert report["findings"] == []
    for slug, why in unjudged:
        assert any(slug in row["unjudged"] and why in row["why"] for row in report["coverage"]), report["coverage"]
    assert report["job"]["ranks"] == ranks
    assert report["job"]["dropped"] == 0


def test_rank_0_prepares_and_saves_between_barriers(tmp_path, seed):
    rng = ddpscope.draw(seed, "classifier")
    ranks = rng.choice([2, 3, 4])
    job = Job("train_classifier.py", ranks=ranks, arguments=[
        "--data", "data", "--out", f"runs/{rng.randrange(1000)}", "--samples", ranks * rng.randrange(24, 40),
        "--hidden", rng.randrange(32, 128), "--workers", rng.choice([1, 2]), "--seed", rng.randrange(1000)])
    expect_silence(run_twice(job, tmp_path), ranks)


@pytest.mark.long
def test_every_rank_saves_its_own_shard(tmp_path, seed):
    rng = ddpscope.draw(seed, "sharded")
    ranks = rng.choice([2, 3, 4])
    job = Job("sharded_save.py", ranks=ranks, arguments=[
        f"step-{rng.randrange(10000)}", rng.randrange(64, 160), rng.randrange(4, 12), rng.randrange(1000)])
    expect_silence(run_recorded(job, tmp_path), ranks)


@pytest.mark.long
def test_spawned_ranks_and_workers_with_rotating_checkpoints(tmp_path, seed):
    rng = ddpscope.draw(seed, "spawn")
    ranks = rng.choice([2, 3])
    job = Job("spawn_regression.py", ranks=ranks, launcher=False, arguments=[
        f"checkpoints{rng.randrange(100)}", ranks, rng.randrange(3, 5), ranks * 6 * rng.randrange(3, 6),
        rng.randrange(48, 96), free_port()])
    expect_silence(run_twice(job, tmp_path), ranks)


@pytest.mark.long
def test_memory_mapped_tokens_accumulation_and_logs(tmp_path, seed):
    rng = ddpscope.draw(seed, "memmap")
    ranks = rng.choice([2, 3, 4])
    job = Job("lm_memmap.py", ranks=ranks, arguments=[
        "tokens.bin", "--name", f"run{rng.randrange(100)}", "--accumulate", rng.choice([2, 4]), "--seed",
        rng.randrange(1000)])
    trace = run_recorded(job, tmp_path, make_data=lambda folder: make_tokens(folder / "tokens.bin", 20000, seed))
    expect_silence(trace, ranks)


@pytest.mark.parametrize("at_once", [True, pytest.param(False, marks=pytest.mark.long)])
def test_every_rank_reads_all_shards_and_keeps_its_lines(tmp_path, at_once, seed):
    rng = ddpscope.draw(seed, f"shards/{at_once}")
    ranks = rng.choice([2, 4])
    # Few lines a shard: a rank goes through one or more of them for each batch.
    lines = ranks * rng.randrange(1, 5)
    job = Job("lm_shards.py", ranks=ranks, arguments=[
        "shards", "--seed", rng.randrange(1000), "--workers", rng.choice([1, 2]), *(["--at-once"] if at_once else [])])
    trace = run_recorded(job, tmp_path, make_data=lambda folder: make_shards(folder / "shards", 80, lines, seed))
    expect_silence(trace, ranks)


@pytest.mark.long
def test_ranks_that_share_a_model_share_its_samples(tmp_path, seed):
    rng = ddpscope.draw(seed, "split")
    ranks = rng.choice([2, 4])
    job = Job("speech_split.py", ranks=ranks, arguments=["corpus", "--hidden", 16 * ranks, "--workers", rng.choice([0, 1, 2])])
    trace = run_recorded(job, tmp_path, make_data=lambda folder: make_clips(folder / "corpus", 80, 400, seed))
    expect_silence(trace, ranks, [("unsharded-sampler", "no ranks were seen to exchange gradients")])


def test_ranks_that_share_a_model_beside_its_replicas(tmp_path, seed):
    rng = ddpscope.draw(seed, "grid")
    job = Job("grid_trainer.py", ranks=4, arguments=["corpus", "--workers", rng.choice([0, 1]), "--seed", rng.randrange(1000)])
    trace = run_recorded(job, tmp_path, make_data=lambda folder: make_clips(folder / "corpus", 96, 400, seed))
    expect_nothing_found(trace, 4)


@pytest.mark.long
def test_members_of_a_population_share_samples(tmp_path, seed):
    rng = ddpscope.draw(seed, "population")
    ranks = rng.choice([2, 3, 4])
    job = Job("speech_population.py", ranks=ranks, arguments=[
        "corpus", "--exchange", rng.choice([1, 2, 4]), "--workers", rng.choice([0, 1, 2])])
    trace = run_recorded(job, tmp_path, make_data=lambda folder: make_clips(folder / "corpus", 80, 400, seed))
    expect_silence(trace, ranks, [("unsharded-sampler", "")])


def test_ranks_wait_by_files_and_variables(tmp_path, seed):
    rng = ddpscope.draw(seed, "files")
    ranks = rng.choice([2, 4])
    job = Job("waits_by_files.py", ranks=ranks, arguments=[f"shared{rng.randrange(100)}", rng.choice([0, 0.05, 0.3])])
    expect_silence(run_recorded(job, tmp_path), ranks, [("missing-barrier", "what could order the two was not recorded")])
