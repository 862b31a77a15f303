"""Healthy PyTorch jobs that end in ways of their own, begin again, or are ended while they train: nobody is accused."""
import signal

import ddpscope
import pytest
from jobs import Job, run_recorded

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)


def expect_nobody_accused(trace, ranks, attempt=0):
    report = ddpscope.report(trace)
    assert (report["findings"], report["job"]["ranks"], report["job"]["attempt"]) == ([], ranks, attempt)
    return report


@pytest.mark.parametrize("way", ["all-at-once",
                                 *(pytest.param(way, marks=pytest.mark.long) for way in ("rank-0-leaves", "exec", "one-at-once", "daemon"))])
def test_ends_by_itself(tmp_path, way, seed):
    rng = ddpscope.draw(seed, f"odd/{way}")
    ranks, steps = rng.choice([2, 4]), rng.randrange(15, 40)
    trace = run_recorded(Job("odd_endings.py", [way, steps], ranks, launcher="loop"), tmp_path)
    expect_nobody_accused(trace, ranks)


@pytest.mark.long
@pytest.mark.oldest  # in newer ones the second attempt meets the first one's addresses in the store, and fails
def test_begins_again(tmp_path, seed):
    """torchrun starts all ranks again after one has failed: of the first attempt only that it was is told."""
    rng = ddpscope.draw(seed, "odd/restart")
    ranks, steps = rng.choice([2, 4]), rng.randrange(15, 40)
    command = Job("odd_endings.py", ["restart", steps], ranks).command()
    module = command.index("torch.distributed.run") + 1
    done = ddpscope.record([*command[:module], "--max_restarts", "1", *command[module:]], tmp_path / "trace", tmp_path)
    assert done.code == 0, done.stderr[-3000:]
    report = expect_nobody_accused(tmp_path / "trace", ranks, attempt=1)
    assert "1 other attempt of the job" in [row["what"] for row in report["coverage"]]


@pytest.mark.parametrize("way", ["save", pytest.param("speeds", marks=pytest.mark.long)])
def test_somebody_ends_it(tmp_path, way, seed):
    rng = ddpscope.draw(seed, f"odd/{way}")
    ranks, how = rng.choice([2, 4]), rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    ddpscope.record_and_signal(Job("odd_endings.py", [way, 10000], ranks).command(), tmp_path / "trace", tmp_path, how,
                               rng.uniform(3, 5))
    expect_nobody_accused(tmp_path / "trace", ranks)
