"""PyTorch jobs whose ranks have wrong numbers: by their own arithmetic, or by their launcher. Put right they are silent."""
import ddpscope
import pytest
from jobs import SAMPLES, SCRIPTS, Job, evidence_of, expect_nothing_found, make_shards, run_recorded
from ports import free_port

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)


def hybrid(rng, ranks, folder, multiply):
    make_shards(folder / "chunks", ranks, 20, rng.randrange(1000))
    return Job("hybrid_shards.py", ranks=ranks, launcher="loop", arguments=[
        folder / "chunks", "dump", "--multiply", multiply, "--save-every", rng.choice([2, 3]), "--seed", rng.randrange(1000)])


@pytest.mark.long
def test_replica_times_replicas(tmp_path, seed):
    rng = ddpscope.draw(seed, "hybrid")
    ranks = rng.choice([6, 8])
    trace = run_recorded(hybrid(rng, ranks, tmp_path, "replicas"), tmp_path)
    finding = ddpscope.only_finding(trace, "rank-mismatch")
    shards = ranks // 2
    numbers = [rank // shards * 2 + rank % shards for rank in range(ranks)]
    colliding = [rank for rank in range(ranks) if numbers.count(numbers[rank]) > 1]
    assert finding["ranks"] == colliding and finding["consequences"][0] == "duplicate-checkpoint-write"
    lines = {"train_state": ddpscope.line_of(SCRIPTS / "hybrid_shards.py", 'json", "w") as file'),
             "part-": ddpscope.line_of(SCRIPTS / "hybrid_shards.py", "with open(chunk)")}
    for rank in colliding:
        steps = evidence_of(finding, rank)
        for name, line in lines.items():
            own = [step for step in steps if f"{name}" in step["file"]]
            assert own, f"rank {rank}: {steps}"
            assert all(f"{numbers[rank]:05d}.json" in step["file"] for step in own), own
            assert any(f"hybrid_shards.py:{line} " in frame for step in own for frame in step["stack"]), own


@pytest.mark.long
def test_replica_times_shards(tmp_path, seed):
    rng = ddpscope.draw(seed, "hybrid-fixed")
    ranks = rng.choice([6, 8])
    expect_nothing_found(run_recorded(hybrid(rng, ranks, tmp_path, "shards"), tmp_path), ranks, SAMPLES)


def launched(rng, gpus, *more):
    return Job("gpus_as_ranks.py", ranks=len(gpus), launcher=False, arguments=[
        f"out{rng.randrange(100)}", free_port(), "--gpus", ",".join(map(str, gpus)), *more])


@pytest.mark.long
def test_gpus_as_ranks(tmp_path, seed):
    rng = ddpscope.draw(seed, "gpus")
    gpus = rng.sample(range(4, 12), rng.choice([2, 3]))
    finding = ddpscope.only_finding(run_recorded(launched(rng, gpus), tmp_path), "rank-mismatch")
    told = sorted(step["detail"] for step in finding["evidence"])
    assert told == [f"announces itself to the others as rank {rank} of {len(gpus)}; RANK is {gpu}"
                    for rank, gpu in enumerate(gpus)]
    assert "nobody has RANK 0" in finding["title"]
    assert not list(tmp_path.glob("recorded/out*/*")), "nobody saves"


def test_ranks_as_ranks(tmp_path, seed):
    rng = ddpscope.draw(seed, "gpus-fixed")
    gpus = rng.sample(range(4, 12), rng.choice([2, 3]))
    expect_nothing_found(run_recorded(launched(rng, gpus, "--fixed"), tmp_path), len(gpus),
                         SAMPLES | {"no-process-group"})  # no WORLD_SIZE says that they are one job
