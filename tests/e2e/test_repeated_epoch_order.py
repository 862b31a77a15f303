"""A shuffle that is the same in each epoch: found on every rank, with both readings of a sample."""
import ddpscope
import pytest
import trainer


@trainer.everywhere
def test_no_set_epoch(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "no-set-epoch", ranks)
    finding = ddpscope.only_finding(trainer.fault("repeated-epoch-order", draw, tmp_path), "repeated-epoch-order")
    assert finding["severity"] == "warning" and finding["confidence"] == "possible"
    assert finding["ranks"] == list(range(ranks))
    own = draw.samples // ranks
    assert finding["title"].endswith(f"{draw.epochs} times"), finding["title"]
    for rank in range(ranks):
        trainer.assert_at(finding, rank, "pread", trainer.place("dataset.cpp", "pread(descriptor(file)"))
        before, again = [step for step in finding["evidence"] if step["rank"] == rank]
        assert "/data/" in before["file"] and before["file"] == again["file"] and before["t_ns"] < again["t_ns"]
        assert before["process"] != again["process"], "each epoch has workers of its own"
        assert f"one of {own} samples" in before["detail"]


@trainer.everywhere
def test_stopped_in_the_first_epoch(tmp_path, ranks, seed):
    """No order comes back that was gone through once."""
    draw = trainer.Draw(seed, "one-epoch", ranks)
    draw.epochs = 1
    trainer.assert_silent(trainer.fault("repeated-epoch-order", draw, tmp_path))
