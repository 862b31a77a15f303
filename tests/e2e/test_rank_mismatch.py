"""Ranks with wrong numbers: in their environment, or by arithmetic of their own."""
import ddpscope
import pytest
import trainer

STATE = trainer.place("checkpoint.cpp", "write_in_place(path, fmt::format")
JOIN = trainer.place("communicators.cpp", "check(ncclCommInitRank(")


@trainer.everywhere
def test_environment(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "environment", ranks)
    trace = trainer.fault("rank-mismatch/environment", draw, tmp_path)
    finding = ddpscope.only_finding(trace, "rank-mismatch")
    assert finding["ranks"] == list(range(ranks)) and finding["confidence"] == "certain"
    for rank in range(ranks):
        trainer.assert_at(finding, rank, "ncclCommInitRank", JOIN)
    details = [step["detail"] for step in finding["evidence"]]
    assert details == [f"joins as rank {rank} of {ranks}; RANK is {rank + 1 + draw.rank}" for rank in range(ranks)]
    assert "nobody has RANK 0" in finding["title"]
    assert not list(tmp_path.glob("*/checkpoints/step_*")), "nobody saves"


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
@pytest.mark.parametrize("ranks", [6, 8])
def test_arithmetic(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "dp-rank", ranks)
    trace = trainer.fault("rank-mismatch/dp-rank", draw, tmp_path)
    finding = ddpscope.only_finding(trace, "rank-mismatch")
    shards = ranks // 2
    numbers = [rank // shards * 2 + rank % shards for rank in range(ranks)]
    shared = [number for number in numbers if numbers.count(number) > 1]
    colliding = [rank for rank in range(ranks) if numbers[rank] in shared]
    assert finding["ranks"] == colliding and finding["confidence"] == "certain"
    assert finding["count"] == draw.epochs, "one a save"
    assert finding["consequences"] == ["duplicate-checkpoint-write", "unsharded-sampler"]
    for rank in colliding:
        trainer.assert_at(finding, rank, finding["evidence"][0]["call"], STATE)
        files = {step["file"] for step in finding["evidence"] if step["rank"] == rank}
        assert all(file.endswith(f"/train_state_{numbers[rank]:05}.json") for file in files), files
    missing = " and ".join(str(number) for number in range(ranks) if number not in numbers)
    assert f"from one block of {shards} ranks to the next the numbers rise by 2, and nobody has {missing}" in finding["title"]


@pytest.mark.parametrize("ranks", [2, 4])
def test_arithmetic_that_is_right_by_luck(tmp_path, ranks):
    command = [trainer.TRAINER, "--ranks", ranks, "--workdir", tmp_path, "--fault", "rank-mismatch/dp-rank"]
    done = ddpscope.start(command, tmp_path)
    assert done.code == 2 and f"error: {ranks} ranks are 2 x {ranks // 2} shards" in done.stderr


@trainer.everywhere
def test_resumed_with_numbers_of_their_own(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "own-numbers", ranks)
    arguments = [trainer.TRAINER, *draw.arguments(), "--workdir", tmp_path / "out", "--twin", "data-parallel-rank"]
    first = ddpscope.record([*arguments, "--steps", 2, "--checkpoint-every", 2], tmp_path / "first", tmp_path, cpu=True)
    assert first.code == 0, first.stderr[-2000:]
    second = ddpscope.record([*arguments, "--resume"], tmp_path / "second", tmp_path, cpu=True)
    assert second.code == 0, second.stderr[-2000:]
    trainer.assert_silent(tmp_path / "second")
