"""A rank that runs out of data a step before its peers: found as that, with where it goes on and where they wait."""
import ddpscope
import pytest
import trainer


def expect_uneven(draw, folder, fault):
    finding = ddpscope.only_finding(trainer.fault(fault, draw, folder, code=1), "uneven-steps")
    assert finding["ranks"] == [draw.rank] and finding["severity"] == "error" and finding["confidence"] == "likely"
    assert f"no data left after {draw.steps_per_epoch - 1} steps" in finding["title"], finding["title"]
    reduce = trainer.place("gradient_buckets.cpp", "group_.all_reduce(")
    trainer.assert_at(finding, trainer.other(draw), "ncclAllReduce", reduce)
    return finding


@trainer.everywhere
def test_no_padding(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "no-padding", ranks)
    finding = expect_uneven(draw, tmp_path, "uneven-steps/no-padding")
    assert set(finding["consequences"]) == {"hung-collective", "mismatched-collective"}
    trainer.assert_at(finding, draw.rank, "ncclAllReduce", trainer.place("training.cpp", "group_.average(std::span(&mean_loss"))


@trainer.everywhere
def test_a_barrier_at_the_end_of_the_epoch(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "uneven-barrier", ranks)
    finding = expect_uneven(draw, tmp_path, "uneven-steps/barrier")
    assert set(finding["consequences"]) == {"hung-collective", "mismatched-collective", "skipped-barrier"}
    trainer.assert_at(finding, draw.rank, "ncclAllReduce", trainer.place("training.cpp", "group_.barrier("))


@trainer.everywhere
@pytest.mark.parametrize("end", ["no-padding", "barrier"])
def test_ranks_that_read_their_samples_themselves(tmp_path, ranks, seed, end):
    draw = trainer.Draw(seed, f"uneven-{end}-no-workers", ranks)
    draw.workers = 0
    expect_uneven(draw, tmp_path, f"uneven-steps/{end}")


@trainer.everywhere
def test_ranks_that_read_their_samples_themselves_and_do_well(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "no-workers", ranks)
    draw.workers = 0
    trace = trainer.train(draw, tmp_path, "--twin", draw.rng.choice(["join-uneven", "drop-last"]))
    trainer.assert_silent(trace)
