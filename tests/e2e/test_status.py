"""`ddpscope status` on jobs that run: the rank that is missing is named, and slow jobs are never called stuck."""
import json
import os
import re
import signal
import time

import ddpscope
import live_jobs
import pytest
import trainer
from live_jobs import pid_of_rank, status

# tests/long.sh asks for 100 of each.
STALLS = range(int(os.environ.get("DDPSCOPE_STALLS", "3")))
SLOW_JOBS = range(int(os.environ.get("DDPSCOPE_SLOW_JOBS", "3")))


def running(draw, folder, *extra, run=()):
    return live_jobs.running([trainer.TRAINER, *draw.arguments(), "--workdir", folder / "out", *extra], folder, "--cpu", *run)


def wait_until_stuck(folder, job, seconds=60):
    """The first status with exit code 1."""
    last = None
    for _ in range(seconds):
        assert job.poll() is None, (folder / "log").read_text()[-3000:]
        last = status(folder)
        if last.code == 1:
            return last.stdout
        assert not last.stdout.startswith("stuck"), last.stdout
        time.sleep(1)
    raise AssertionError(f"never stuck: {last}")


def stop(draw, folder):
    """SIGSTOP to a rank once it trains."""
    for _ in range(300):
        time.sleep(0.1)
        pid = pid_of_rank(folder, draw.rank) if (folder / "trace").exists() else None
        if pid and status(folder).stdout.startswith("running"):
            time.sleep(draw.rng.uniform(0.1, 0.5))
            os.kill(pid, signal.SIGSTOP)
            return
    raise AssertionError("the rank never began")


def planted(number, seed):
    draw = trainer.Draw(seed, f"status-stall-{number}", (2, 4, 8)[number % 3])
    draw.timeout = 1000
    draw.at = draw.rng.randrange(2, draw.steps_per_epoch)
    return draw


@pytest.mark.parametrize("number", STALLS)
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_the_missing_rank_is_named(tmp_path, number, seed):
    draw = planted(number, seed)
    way = draw.rng.choice(["hung-collective/stuck", "stopped"])
    if way == "stopped":
        draw.epochs = 200
    extra = [] if way == "stopped" else ["--fault", way, "--fault-rank", draw.rank, "--fault-at", draw.at]
    with running(draw, tmp_path, *extra) as job:
        if way == "stopped":
            stop(draw, tmp_path)
        text = wait_until_stuck(tmp_path, job)
    first = text.splitlines()[0]
    assert first.startswith("stuck for "), text
    named = re.search(rf"rank {draw.rank} (never came|is stopped)", first)
    assert named, f"{way} of rank {draw.rank}: {text}"


@pytest.mark.parametrize("fold", [[], ["--fold", 1]])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_a_long_trace(tmp_path, fold, seed):
    """Of which only the latest part is read."""
    draw = ddpscope.draw(seed, f"status-long-{len(fold)}")
    made = ddpscope.start([ddpscope.BUILD / "bin" / "tracegen", "--out", tmp_path / "trace", "--ranks", 3, "--seed",
                           draw.randrange(1, 1000), "--steps", 30000, *fold, "--fault", "hung-collective"], cwd=tmp_path)
    planted_rank = json.loads(made.stdout)["rank"]
    told = status(tmp_path)
    assert told.code == 1, told.stdout + told.stderr
    assert f"rank {planted_rank} never came: it ended with exit code 1" in told.stdout.splitlines()[0]


def slow_job(draw):
    """A healthy job that makes its ranks wait for one of them."""
    way = draw.rng.choice(["slow-rank", "frequent-checkpoint", "frequent-evaluation"])
    return ["--twin", way, *(["--fault-rank", draw.rank, "--fault-at", draw.at] if way == "slow-rank" else [])]


@pytest.mark.parametrize("number", SLOW_JOBS)
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_a_slow_job_is_not_stuck(tmp_path, number, seed):
    draw = trainer.Draw(seed, f"status-slow-{number}", (2, 4, 8)[number % 3])
    draw.at, draw.timeout = draw.rng.randrange(2, draw.steps_per_epoch), 60
    draw.epochs = draw.rng.randrange(10, 15)  # not over before it is looked at
    looks = 0
    with running(draw, tmp_path, *slow_job(draw)) as job:
        while job.poll() is None:
            told = status(tmp_path) if (tmp_path / "trace").exists() else None
            if told:
                assert told.code != 1, told.stdout
                looks += told.code == 0
            time.sleep(0.1)
        assert job.returncode == 0, (tmp_path / "log").read_text()[-3000:]
    assert looks > 0
    ended = status(tmp_path)
    assert ended.code == 0 and ended.stdout.startswith("ended: "), ended.stdout


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_a_command_runs_once_a_stall(tmp_path, seed):
    draw = planted(1, seed)
    command = 'echo "$DDPSCOPE_TRACE" >> told; echo "$DDPSCOPE_FINDING" >> told; exit 3'
    fault = ["--fault", "hung-collective/stuck", "--fault-rank", draw.rank, "--fault-at", draw.at]
    with running(draw, tmp_path, *fault, run=["--on-hang", command]) as job:
        wait_until_stuck(tmp_path, job)
        time.sleep(4)
        assert job.poll() is None
    told = (tmp_path / "told").read_text().splitlines()
    assert len(told) == 2, told
    assert told[0] == str(tmp_path / "trace")
    finding = json.loads(told[1])
    assert finding["slug"] == "hung-collective" and finding["ranks"] == [draw.rank]
    assert "--on-hang ended with exit code 3" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_follow_ends_with_the_job(tmp_path, seed):
    draw = trainer.Draw(seed, "status-follow", 2)
    with running(draw, tmp_path) as job:
        while not (tmp_path / "trace").exists() or status(tmp_path).code == 2:
            assert job.poll() is None
            time.sleep(0.1)
        done = ddpscope.start([ddpscope.DDPSCOPE, "status", tmp_path / "trace", "--follow"], cwd=tmp_path, timeout=60)
    assert done.code == 0, done.stdout + done.stderr
    assert "ended: 2 ranks, all ended with exit code 0" in done.stdout.splitlines()[-3], done.stdout


def test_what_is_no_trace_cannot_be_read(tmp_path):
    (tmp_path / "trace").mkdir()
    done = status(tmp_path)
    assert done.code == 2 and "error:" in done.stderr
