"""A rank that trains with a learning rate of its own: found by the validation loss that all read."""
import ddpscope
import trainer


def draw_job(seed, test, ranks):
    draw = trainer.Draw(seed, test, ranks)
    # Each rank's loss on the whole validation set is read after each step; one slot needs 20 steps to agree in.
    draw.epochs, draw.steps_per_epoch, draw.accumulate = 1, draw.rng.randrange(44, 50), 1
    draw.at = draw.rng.randrange(26, 32)
    draw.timeout = 20
    return draw


def unjudged(trace):
    return {slug for entry in ddpscope.report(trace)["coverage"] for slug in entry["unjudged"]}


@trainer.everywhere
def test_own_schedule(tmp_path, ranks, seed):
    draw = draw_job(seed, "own-schedule", ranks)
    trace = trainer.fault("rank-divergence/own-schedule", draw, tmp_path, "--evaluate-every", 1, code=1)
    finding = ddpscope.only_finding(trace, "rank-divergence")
    assert finding["severity"] == "warning" and finding["confidence"] == "likely"
    assert finding["ranks"] == ([0, 1] if ranks == 2 else [draw.rank]), finding["title"]
    # The first step's read is not like the others: the rank has only set up before it.
    assert f"agreed in {draw.at - 2} steps" in finding["title"], (draw.at, finding["title"])
    assert 5 <= finding["count"] <= draw.steps_per_epoch - draw.at + 1
    trainer.assert_at(finding, finding["ranks"][0], "value_read", trainer.place("evaluation.cpp", "total_.download("))


@trainer.everywhere
def test_healthy(tmp_path, ranks, seed):
    draw = draw_job(seed, "alike", ranks)
    trace = trainer.train(draw, tmp_path, "--evaluate-every", 1)
    trainer.assert_silent(trace)
    assert "rank-divergence" not in unjudged(trace)


@trainer.everywhere
def test_sharded_evaluation(tmp_path, ranks, seed):
    """Each rank evaluates on its own part of the set, after a common phase; the models stay alike."""
    draw = draw_job(seed, "sharded-evaluation", ranks)
    trace = trainer.train(draw, tmp_path, "--evaluate-every", 1, "--twin", "sharded-evaluation", "--fault-at", draw.at)
    trainer.assert_silent(trace)
    assert "rank-divergence" not in unjudged(trace)
