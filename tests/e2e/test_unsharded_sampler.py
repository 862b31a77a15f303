"""Ranks that train on the same samples, whichever way it came about."""
import ddpscope
import pytest
import trainer


@trainer.everywhere
@pytest.mark.parametrize("variant", ["no-sampler", "ignored-index", "shuffle-each"])
def test_same_samples(tmp_path, variant, ranks, seed):
    draw = trainer.Draw(seed, variant, ranks)
    draw.steps_per_epoch = draw.rng.randrange(5, 8)
    finding = ddpscope.only_finding(trainer.fault(f"unsharded-sampler/{variant}", draw, tmp_path), "unsharded-sampler")
    assert finding["ranks"] == list(range(ranks))
    files = {step.get("file", "") for step in finding["evidence"]}
    assert any("/data/" in file for file in files), files
