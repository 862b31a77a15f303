"""Gradients that are never reduced, or too early: found, with the line that reduces or hands out the model."""
import ddpscope
import pytest
import trainer


@trainer.everywhere
@pytest.mark.parametrize("variant, confidence, call, file, text", [
    ("bypassed-ddp", "likely", "ncclBroadcast", "training.cpp", "broadcast(state"),
    ("first-micro-batch", "certain", "ncclAllReduce", "gradient_buckets.cpp", "group_.all_reduce("),
])
def test_ranks_train_alone(tmp_path, variant, confidence, call, file, text, ranks, seed):
    draw = trainer.Draw(seed, variant, ranks)
    trace = trainer.fault(f"missing-gradient-sync/{variant}", draw, tmp_path, code=1)  # parameters differ at the end
    finding = ddpscope.only_finding(trace, "missing-gradient-sync")
    assert finding["ranks"] == list(range(ranks)) and finding["confidence"] == confidence
    steps = draw.epochs * draw.steps_per_epoch
    assert finding["count"] == steps if variant == "bypassed-ddp" else steps / 2 <= finding["count"] <= steps
    trainer.assert_at(finding, finding["evidence"][0]["rank"], call, trainer.place(file, text))
    trainer.assert_ends_a_step(finding)
