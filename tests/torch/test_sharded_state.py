"""PyTorch jobs whose state is spread over the ranks: gathered on one that saves (ZeroRedundancyOptimizer), or saved by each
rank for itself (FSDP with torch.distributed.checkpoint). The healthy ones are silent, the others are found.
"""
import ddpscope
import pytest
from jobs import SAMPLES, SCRIPTS, Job, expect_nothing_found, expect_race, known_gap, run_recorded

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)

needs_async_save = pytest.mark.newest  # 1.13 has no dcp.async_save, nor FSDP on a CPU


def zero(rng, ranks, out, *more):
    return Job("zero_consolidated.py", ranks=ranks, launcher="loop", arguments=[
        out, "--width", rng.randrange(64, 160), "--seed", rng.randrange(1000), *more])


def fsdp(rng, ranks, out, *more):
    return Job("fsdp_sharded.py", ranks=ranks, launcher="loop", arguments=[
        out, "--steps", rng.randrange(2, 5), "--seed", rng.randrange(1000), *more])


def expect_duplicates(trace, script, ranks, path, line):
    finding = ddpscope.only_finding(trace, "duplicate-checkpoint-write")
    number = ddpscope.line_of(SCRIPTS / script, line)
    assert finding["ranks"] == list(range(ranks))
    for rank in range(ranks):
        files = {step["file"] for step in finding["evidence"] if step["rank"] == rank and step.get("file")}
        assert any(path in file for file in files), f"rank {rank}: {files}"
        assert any(f"{script}:{number} " in frame for frame in ddpscope.frames(finding, rank))


def test_optimizer_state_is_gathered_and_saved_by_rank_0(tmp_path, seed):
    rng = ddpscope.draw(seed, "zero")
    ranks = rng.choice([2, 3])
    job = zero(rng, ranks, f"out{rng.randrange(100)}", "--epochs", rng.randrange(2, 4))
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


@pytest.mark.long
def test_barrier_before_the_save_instead_of_after_it(tmp_path, seed):
    rng = ddpscope.draw(seed, "zero-before")
    ranks, out = rng.choice([2, 3]), f"out{rng.randrange(100)}"
    trace = run_recorded(zero(rng, ranks, out, "--barrier", "before", "--late", rng.choice([1, 1.5])), tmp_path)
    known_gap(trace, "told each other shows in no call")
    expect_race(trace, "zero_consolidated.py", f"{out}/epoch", 0, "torch.save({", range(1, ranks), "kept = torch.load(")


@pytest.mark.long
def test_optimizer_state_is_gathered_and_saved_by_all(tmp_path, seed):
    rng = ddpscope.draw(seed, "zero-all")
    ranks, out = rng.choice([2, 3]), f"out{rng.randrange(100)}"
    trace = run_recorded(zero(rng, ranks, out, "--savers", "all"), tmp_path)
    expect_duplicates(trace, "zero_consolidated.py", ranks, f"{out}/epoch", "torch.save({")


@needs_async_save
@pytest.mark.parametrize("way", ["together", pytest.param("thread", marks=pytest.mark.long)])
def test_shards_are_saved_before_they_are_loaded(tmp_path, seed, way):
    rng = ddpscope.draw(seed, f"fsdp/{way}")
    ranks = rng.choice([2, 3])
    job = fsdp(rng, ranks, f"out{rng.randrange(100)}", "--save", way)
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


@needs_async_save
def test_only_rank_0_waits_for_the_shards(tmp_path, seed):
    """The last rank opens the metadata that is not there yet: the job fails. Of its threads, one of which helps to save, it
    cannot be told that the opening did not have to come first.
    """
    rng = ddpscope.draw(seed, "fsdp-rank-0")
    ranks, out = rng.choice([2, 3]), f"out{rng.randrange(100)}"
    trace = run_recorded(fsdp(rng, ranks, out, "--save", "thread", "--wait", "rank-0"), tmp_path, code=1)
    known_gap(trace, "told each other shows in no call")
    finding = ddpscope.only_finding(trace, "missing-barrier")
    line = ddpscope.line_of(SCRIPTS / "fsdp_sharded.py", "dcp_to_torch_save(folder")
    assert set(finding["ranks"]) == {0, ranks - 1}
    assert any(f"fsdp_sharded.py:{line} " in frame for frame in ddpscope.frames(finding, ranks - 1))


@pytest.mark.long
@needs_async_save
def test_every_rank_saves_all_of_the_model(tmp_path, seed):
    """Whose renaming finds nothing to rename, because another rank has renamed it, fails."""
    rng = ddpscope.draw(seed, "fsdp-whole")
    ranks, out = rng.choice([2, 3]), f"out{rng.randrange(100)}"
    trace = run_recorded(fsdp(rng, ranks, out, "--save", "whole"), tmp_path, code=None)
    expect_duplicates(trace, "fsdp_sharded.py", ranks, f"{out}/step", "dcp.state_dict_saver.save_state_dict(")
