"""Every rank writes the checkpoint: to one path, or the same content under names of their own."""
import ddpscope
import pytest
import trainer


def assert_every_rank_writes(finding, ranks, where):
    assert finding["ranks"] == list(range(ranks))
    for rank in range(ranks):
        frames = ddpscope.frames(finding, rank)
        assert any(where in frame for frame in frames), f"{where} not in {frames}"


@trainer.everywhere
def test_one_path(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "all", ranks)
    finding = ddpscope.only_finding(trainer.fault("duplicate-checkpoint-write/all", draw, tmp_path),
                                    "duplicate-checkpoint-write")
    assert_every_rank_writes(finding, ranks, trainer.place("checkpoint.cpp", "write_in_place(path"))
    files = {step.get("file", "") for step in finding["evidence"]}
    assert any("/checkpoints/step_" in file and file.endswith(".bin") for file in files), files
    assert finding["severity"] == "error", "nothing orders the writers"


@trainer.everywhere
@pytest.mark.parametrize("variant", ["timestamped", "sharded-names"])
def test_names_of_their_own(tmp_path, variant, ranks, seed):
    draw = trainer.Draw(seed, variant, ranks)
    draw.width = draw.rng.choice([128, 144, 160])  # less than 256 KiB of content is not compared
    finding = ddpscope.only_finding(trainer.fault(f"duplicate-checkpoint-write/{variant}", draw, tmp_path),
                                    "duplicate-checkpoint-write")
    assert_every_rank_writes(finding, ranks, trainer.place("checkpoint.cpp", "write_atomically(path"))
