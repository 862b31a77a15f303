"""A rank never comes to a collective: who waits, who is absent, and how it ended."""
import ddpscope
import pytest
import trainer


@trainer.everywhere
@pytest.mark.parametrize("variant, sign", [("exit", "exit code 1"), ("stuck", ""), ("killed", "")])
def test_a_rank_is_absent(tmp_path, variant, sign, ranks, seed):
    draw = trainer.Draw(seed, f"hung-{variant}", ranks)
    draw.at = draw.rng.randrange(2, 2 * draw.steps_per_epoch)
    finding = ddpscope.only_finding(trainer.fault(f"hung-collective/{variant}", draw, tmp_path, code=None),
                                    "hung-collective")
    assert finding["ranks"] == [draw.rank]
    assert sign in finding["title"] + " ".join(step["detail"] for step in finding["evidence"])
    waiting = {step["rank"] for step in finding["evidence"] if step["rank"] != draw.rank}
    assert waiting, "nobody is shown waiting"
