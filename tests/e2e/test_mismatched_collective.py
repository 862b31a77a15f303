"""One rank's collective differs from its peers' in one respect."""
import ddpscope
import pytest
import trainer

CALLS = {"count": "ncclAllReduce", "dtype": "ncclAllReduce", "redop": "ncclAllReduce", "root": "ncclBroadcast",
         "operation": "ncclBroadcast"}


@trainer.everywhere
@pytest.mark.parametrize("variant", list(CALLS))
def test_one_rank_differs(tmp_path, variant, ranks, seed):
    draw = trainer.Draw(seed, variant, ranks)
    draw.at = draw.rng.randrange(2, draw.epochs + 1) if variant == "root" else draw.rng.randrange(2, 2 * draw.steps_per_epoch)
    finding = ddpscope.only_finding(trainer.fault(f"mismatched-collective/{variant}", draw, tmp_path, code=None),
                                    "mismatched-collective")
    # Of two ranks that differ from each other neither is in the majority.
    assert draw.rank in finding["ranks"] if ranks == 2 else finding["ranks"] == [draw.rank]
    where = {"root": ("training.cpp", "group_.agree(epoch"), "operation": ("gradient_buckets.cpp", "group_.broadcast(")}
    trainer.assert_at(finding, draw.rank, CALLS[variant],
                      trainer.place(*where.get(variant, ("gradient_buckets.cpp", "group_.all_reduce("))))


@trainer.everywhere
def test_main_process_broadcasts_alone(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "main-only", ranks)
    finding = ddpscope.only_finding(trainer.fault("mismatched-collective/main-only", draw, tmp_path, code=None),
                                    "mismatched-collective")
    assert 0 in finding["ranks"] if ranks == 2 else finding["ranks"] == [0]
    trainer.assert_at(finding, 0, "ncclBroadcast", trainer.place("checkpoint.cpp", "group_.agree(", which=1))
    trainer.assert_at(finding, trainer.other(draw) or 1, "ncclAllReduce", trainer.place("checkpoint.cpp", "group_.barrier(place)"))
