"""A rank that runs out of data a step before its peers: found as that, with where it goes on and where they wait."""
import ddpscope
import pytest
import trainer


@trainer.everywhere
def test_no_padding(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "no-padding", ranks)
    finding = ddpscope.only_finding(trainer.fault("uneven-steps", draw, tmp_path, code=1), "uneven-steps")
    assert finding["ranks"] == [draw.rank] and finding["severity"] == "error" and finding["confidence"] == "likely"
    assert set(finding["consequences"]) == {"hung-collective", "mismatched-collective"}
    assert f"no data left after {draw.steps_per_epoch - 1} steps" in finding["title"], finding["title"]
    trainer.assert_at(finding, draw.rank, "ncclAllReduce", trainer.place("training.cpp", "group_.average(std::span(&mean_loss"))
    reduce = trainer.place("gradient_buckets.cpp", "group_.all_reduce(")
    trainer.assert_at(finding, trainer.other(draw), "ncclAllReduce", reduce)
