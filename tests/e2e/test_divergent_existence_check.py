"""Ranks that run a barrier or not by whether they find a file that one of them is making."""
import ddpscope
import trainer


@trainer.everywhere
def test_guarded_preparation(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "exists", ranks)
    trace = trainer.fault("divergent-existence-check/preparation", draw, tmp_path, code=1)
    finding = ddpscope.only_finding(trace, "divergent-existence-check")
    assert finding["ranks"] == list(range(ranks))
    assert (finding["severity"], finding["confidence"]) == ("error", "certain")
    assert {"skipped-barrier", "mismatched-collective"} <= set(finding["consequences"])
    look = trainer.place("data_preparation.cpp", "if (has_manifest(folder)) return;")
    barrier = trainer.place("data_preparation.cpp", "group.barrier(kPlace);", 1)
    assert "rank 0 finds no" in finding["title"] and look in finding["title"] and barrier in finding["title"]
    for rank in range(ranks):
        trainer.assert_at(finding, rank, "stat", look)
    trainer.assert_at(finding, 0, "ncclAllReduce", barrier)
    looks = {step["rank"]: step for step in finding["evidence"] if step["call"] == "stat"}
    assert all(step["file"].endswith("/data/manifest.txt") for step in looks.values())
    assert [looks[rank]["detail"] for rank in range(ranks)] == ["it is not there"] + ["it is there"] * (ranks - 1)
    assert all(row["found"] == "none between" for row in finding["order"]["looked_for"][:3])


@trainer.everywhere
def test_only_rank_0_looks(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "guard", ranks)
    trainer.assert_silent(trainer.train(draw, tmp_path, "--twin", "broadcast-guard"))
