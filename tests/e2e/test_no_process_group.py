"""Ranks that train alone, without a communicator or each with one of its own."""
import ddpscope
import trainer


def lonely(variant, ranks, seed, folder):
    draw = trainer.Draw(seed, variant, ranks)
    draw.steps_per_epoch = 2 * draw.rng.randrange(2, 4)
    trace = trainer.fault(f"no-process-group/{variant}", draw, folder)
    finding = ddpscope.only_finding(trace, "no-process-group")
    assert finding["ranks"] == list(range(ranks))
    assert (finding["severity"], finding["confidence"]) == ("error", "certain")
    assert f"the world size is {ranks}" in finding["title"]
    updates = draw.epochs * draw.samples // (draw.batch * draw.accumulate)  # each rank trains on everything
    for rank in range(ranks):
        trainer.assert_at(finding, rank, "__cudaLaunchKernel", "reference_trainer::Optimizer::step")
    details = [step["detail"] for step in finding["evidence"] if step["call"] == "__cudaLaunchKernel"]
    assert details == [f"the first of {updates} updates of its model"] * ranks
    return finding


@trainer.everywhere
def test_without_a_communicator(tmp_path, ranks, seed):
    finding = lonely("never", ranks, seed, tmp_path)
    saves = [step for step in finding["evidence"] if step["detail"].startswith("saves")]
    assert [step["rank"] for step in saves] == [0]
    assert "/checkpoints/" in saves[0]["file"]
    assert "only rank 0 saves at checkpoint.cpp" in finding["title"]
    assert "missing-barrier" in finding["consequences"]


@trainer.everywhere
def test_with_a_communicator_of_its_own(tmp_path, ranks, seed):
    finding = lonely("world-of-one", ranks, seed, tmp_path)
    where = trainer.place("communicators.cpp", "return {.ranks = join(own, 1, 0)}")
    for rank in range(ranks):
        trainer.assert_at(finding, rank, "ncclCommInitRank", where)
    assert "communicator of one rank at communicators.cpp" in finding["title"]
    assert "duplicate-checkpoint-write" in finding["consequences"]


@trainer.everywhere
def test_all_but_one_idle(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "idle", ranks)
    finding = ddpscope.only_finding(trainer.fault("no-process-group/idle", draw, tmp_path), "no-process-group")
    assert (finding["severity"], finding["confidence"], finding["ranks"]) == ("warning", "likely", list(range(ranks)))
    assert finding["title"].startswith("rank 0 trains alone while rank")
    assert [step["rank"] for step in finding["evidence"]] == list(range(ranks))
    trainer.assert_at(finding, 0, "__cudaLaunchKernel", "reference_trainer::Optimizer::step")
    assert all("launches nothing" in step["detail"] for step in finding["evidence"][1:])
