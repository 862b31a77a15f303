"""A rank that does not run a barrier, or runs one more: found with the rank, the call and the line of its peers."""
import ddpscope
import trainer


@trainer.everywhere
def test_preparation(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "preparation", ranks)
    finding = ddpscope.only_finding(trainer.fault("skipped-barrier/preparation", draw, tmp_path, code=None),
                                    "skipped-barrier")
    assert finding["ranks"] == [draw.rank]
    trainer.assert_at(finding, trainer.other(draw), "ncclAllReduce",
                      trainer.place("data_preparation.cpp", "group.barrier(kPlace);", -1))


@trainer.everywhere
def test_checkpoint(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "checkpoint", ranks)
    draw.at = draw.rng.randrange(1, draw.epochs + 1)
    finding = ddpscope.only_finding(trainer.fault("skipped-barrier/checkpoint", draw, tmp_path, code=None),
                                    "skipped-barrier")
    assert finding["ranks"] == [draw.rank]
    trainer.assert_at(finding, trainer.other(draw), "ncclAllReduce", trainer.place("checkpoint.cpp", "group_.barrier(place);"))


@trainer.everywhere
def test_extra(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "extra", ranks)
    draw.at = draw.rng.randrange(1, draw.epochs + 1)
    finding = ddpscope.only_finding(trainer.fault("skipped-barrier/extra", draw, tmp_path, code=None),
                                    "skipped-barrier")
    assert finding["ranks"] == [draw.rank]
    trainer.assert_at(finding, draw.rank, "ncclAllReduce", trainer.place("checkpoint.cpp", "group_.barrier(place);", 1))
