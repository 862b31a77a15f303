"""A rank never comes to a collective: who waits, who is absent, and how it ended."""
import platform
import re
import signal

import ddpscope
import pytest
import trainer

# How a process ended that somebody else awaits is known in any case from Linux 6.15 on (collector/commands/exit_status.h).
LINUX = tuple(int(number) for number in re.match(r"(\d+)\.(\d+)", platform.release()).groups())
KILLED = "signal 9 (SIGKILL) killed it" if LINUX >= (6, 15) else ""


@trainer.everywhere
@pytest.mark.parametrize("variant, sign", [("exit", "exited with 1 at main.cpp:"), ("stuck", ""), ("killed", KILLED)])
def test_a_rank_is_absent(tmp_path, variant, sign, ranks, seed):
    draw = trainer.Draw(seed, f"hung-{variant}", ranks)
    draw.at = draw.rng.randrange(2, 2 * draw.steps_per_epoch)
    finding = ddpscope.only_finding(trainer.fault(f"hung-collective/{variant}", draw, tmp_path, code=None),
                                    "hung-collective")
    assert finding["ranks"] == [draw.rank]
    assert sign in finding["title"] + " ".join(step["detail"] for step in finding["evidence"])
    waiting = {step["rank"] for step in finding["evidence"] if step["rank"] != draw.rank}
    assert waiting, "nobody is shown waiting"


@trainer.everywhere
def test_somebody_ends_the_hung_job(tmp_path, ranks, seed):
    """The ranks leave no record of their end; `run` saw it, and so how long they had waited."""
    draw = trainer.Draw(seed, "hung-interrupted", ranks)
    draw.at, draw.timeout = 2, 1000
    how = draw.rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    trace = trainer.train_and_signal(draw, tmp_path, how, trainer.until_stuck, "--fault", "hung-collective/stuck",
                                     "--fault-rank", draw.rank, "--fault-at", draw.at)
    finding = ddpscope.only_finding(trace, "hung-collective")
    assert finding["ranks"] == [draw.rank]
    assert finding["last_ns"] - finding["first_ns"] > 4e9
