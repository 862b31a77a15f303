"""Healthy jobs that end in ways of their own, or are ended by somebody while they train: nobody is accused."""
import signal
import time

import ddpscope
import launch
import live_jobs
import pytest
from test_recorded import expect_silence, recorded

everywhere = pytest.mark.parametrize("ranks, seed", [(ranks, seed) for ranks in (2, 4) for seed in ddpscope.SEEDS])
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]


@everywhere
@pytest.mark.parametrize("way", ["all-at-once", "one-at-once", "rank-0-leaves", "rank-0-lingers", "exec", "daemon",
                                 "heartbeat"])
def test_ends_by_itself(tmp_path, way, ranks, seed):
    rounds = ddpscope.draw(seed, f"odd/{way}/{ranks}").randrange(5, 40)
    expect_silence(launch.trainer("odd_endings", ranks, rounds, way), tmp_path, ranks)


@everywhere
def test_each_rank_has_a_time_limit(tmp_path, ranks, seed):
    done, trace = recorded(launch.trainer("odd_endings", ranks, 0, "time-limit"), tmp_path)
    assert done.code == 1
    report = ddpscope.report(trace)
    assert (report["findings"], report["job"]["ranks"]) == ([], ranks)


@everywhere
@pytest.mark.parametrize("way", ["save", "save-in-step", "save-in-thread", "think-in-child", "slow-ranks"])
def test_somebody_ends_it(tmp_path, way, ranks, seed):
    """While rank 0 has been writing its first checkpoint for some seconds, or its child computes; while the ranks' rounds take
    from 0 to 0.7 s."""
    rng = ddpscope.draw(seed, f"odd/{way}/{ranks}")
    ddpscope.record_and_signal(launch.trainer("odd_endings", ranks, 0, way), tmp_path / "trace", tmp_path,
                               rng.choice(SIGNALS), rng.uniform(3, 5), cpu=True)
    report = ddpscope.report(tmp_path / "trace")
    assert (report["findings"], report["job"]["ranks"]) == ([], ranks)


@everywhere
@pytest.mark.parametrize("way", ["think", "think-in-child", "save-in-thread"])
def test_looked_at_while_it_runs(tmp_path, way, ranks, seed):
    """Rank 0 is busy, without a call of its main thread, for longer than a hang must last: it is on its way all the same."""
    rounds, looks = ddpscope.draw(seed, f"odd/{way}/{ranks}").randrange(22, 40), 0
    with live_jobs.running(launch.trainer("odd_endings", ranks, rounds, way), tmp_path, "--cpu", "--on-hang", "touch told") as job:
        while job.poll() is None:
            if (tmp_path / "begun").exists():
                report = ddpscope.report(tmp_path / "trace")
                assert report["findings"] == [], report["findings"]
                looks += any(row["what"] == "hangs of a job that still runs" and " for the all-reduce" in row["why"]
                             for row in report["coverage"])
                told = live_jobs.status(tmp_path)
                assert told.code == 0, told.stdout
            time.sleep(0.5)
        assert job.returncode == 0, (tmp_path / "log").read_text()[-3000:]
    assert not (tmp_path / "told").exists()
    assert looks > 0, "it was never looked at while ranks waited for rank 0"
