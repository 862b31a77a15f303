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


@trainer.everywhere
def test_same_batches(tmp_path, ranks, seed):
    """No read shows the samples of a mapped file: what is copied to the devices does."""
    draw = trainer.Draw(seed, "in-memory", ranks)
    draw.batch = 32  # of fewer words than are needed to tell a batch from a table
    trace = trainer.fault("unsharded-sampler/in-memory", draw, tmp_path)
    finding = ddpscope.only_finding(trace, "unsharded-sampler")
    assert finding["ranks"] == list(range(ranks)) and finding["confidence"] == "likely"
    where = trainer.place("batch_feed.h", "cudaMemcpyAsync(")
    for rank in range(ranks):
        trainer.assert_at(finding, rank, "cudaMemcpyAsync", where)


@trainer.everywhere
@pytest.mark.parametrize("twin", ["memory-mapped", "shared-masks"])
def test_other_batches(tmp_path, twin, ranks, seed):
    """As large as those above, so that they are compared."""
    draw = trainer.Draw(seed, twin, ranks)
    draw.batch = 32
    trace = trainer.train(draw, tmp_path, "--twin", twin)
    trainer.assert_silent(trace, {"unsharded-sampler", "repeated-epoch-order"})
    why = [row["why"] for row in ddpscope.report(trace)["coverage"] if "unsharded-sampler" in row["unjudged"]]
    assert len(why) == 1 and "differs from rank to rank" in why[0]
