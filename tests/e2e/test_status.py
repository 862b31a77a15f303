"""`ddpscope status` on jobs that run: the rank that is missing is named, and slow jobs are never called stuck."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time

import ddpscope
import live_jobs
import pytest
import trainer
from live_jobs import pid_of_rank, status, wait_for
from ports import free_port

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
        finding = ddpscope.only_finding(tmp_path / "trace", "hung-collective")  # of a report meanwhile
    assert finding["ranks"] == [draw.rank], finding
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
    assert f"rank {planted_rank} never came: it exited with 1" in told.stdout.splitlines()[0]


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


def started(script, ranks, *arguments, without=()):
    """The command of a job of so many ranks, without some that never begin; and the path of the script."""
    path = pathlib.Path(__file__).parent / script
    numbers = " ".join(str(rank) for rank in range(ranks) if rank not in without)
    each = f'for r in {numbers}; do RANK=$r WORLD_SIZE={ranks} "$0" "$@" & done; wait'
    return ["sh", "-c", each, sys.executable, path, *arguments], path


def test_a_rank_that_never_begins(tmp_path):
    command, _ = started("late_member.py", 3, 0, without=[2])
    with live_jobs.running(command, tmp_path, "--cpu") as running_job:
        first = wait_until_stuck(tmp_path, running_job).splitlines()[0]
    assert re.match(r"stuck for \S+ s, and 1 of 3 ranks has not begun to record here: ranks 0 and 1 wait in ncclCommInitRank", first), first


def test_a_rank_that_issued_another_call_is_stuck_though_it_computes(tmp_path):
    command, path = started("other_call.py", 2)
    with live_jobs.running(command, tmp_path, "--cpu") as running_job:
        first = wait_until_stuck(tmp_path, running_job, 30).splitlines()[0]
    line = ddpscope.line_of(path, "assert nccl.ncclAllReduce")
    assert f"rank 0 waits for the all-reduce of 64 float32 (sum) at {path}:{line} <module>; rank 1 issued the all-reduce of 96" in first, first


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_communicator_that_is_not_made(tmp_path, ranks):
    """The others wait in ncclCommInitRank, for which NCCL sets no limit of time."""
    command, job = started("late_member.py", ranks, 1000)
    with live_jobs.running(command, tmp_path, "--cpu") as running_job:
        first = wait_until_stuck(tmp_path, running_job).splitlines()[0]
        report = ddpscope.report(tmp_path / "trace")
    line = ddpscope.line_of(job, "assert nccl.ncclCommInitRank")
    others = "rank 0 waits" if ranks == 2 else "ranks 0 and 1 wait"
    assert f"{others} in ncclCommInitRank at {job}:{line} <module> for rank {ranks - 1}, to make a communicator of {ranks} ranks" in first
    assert "sleep" in first, first
    assert [(found["slug"], found["ranks"]) for found in report["findings"]] == [("hung-collective", [ranks - 1])]


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


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def trains(folder):
    return (folder / "trace").exists() and "no rank waits" in status(folder).stdout


@pytest.mark.long
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_a_stall_that_comes_again_is_another_one(tmp_path, seed):
    draw = planted(1, seed)
    draw.epochs = 2000
    with running(draw, tmp_path, run=["--on-hang", 'echo "$DDPSCOPE_FINDING" >> told']) as job:
        wait_for(lambda: trains(tmp_path), job)
        pid = pid_of_rank(tmp_path, draw.rank)
        for stalls in (1, 2):
            time.sleep(8)  # so many calls that the stall before is beyond the 99th percentile; and looks of `run`
            os.kill(pid, signal.SIGSTOP)
            wait_for(lambda: len(lines_of(tmp_path / "told")) == stalls, job)
            os.kill(pid, signal.SIGCONT)
            wait_for(lambda: trains(tmp_path), job)
        told = [json.loads(line) for line in lines_of(tmp_path / "told")]
    assert [finding["ranks"] for finding in told] == [[draw.rank]] * 2, told


@contextlib.contextmanager
def run_of_each_rank(draw, folder, first, *extra):
    """As under srun, all into one folder; the `run` of rank `first` is the one that looks."""
    environment = {"WORLD_SIZE": draw.ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    command = [trainer.TRAINER, *draw.arguments()[2:], "--workdir", folder / "out", *extra]
    with contextlib.ExitStack() as jobs:
        started = {}
        for rank in sorted(range(draw.ranks), key=lambda rank: rank != first):
            variables = {**environment, "RANK": rank, "LOCAL_RANK": rank}
            one = ["env", *(f"{name}={value}" for name, value in variables.items()), *command]
            started[rank] = jobs.enter_context(live_jobs.running(one, folder, "--cpu", "--on-hang", f"echo {rank} >> told"))
            if rank == first:
                time.sleep(1.5)  # it looks once a second
        yield started


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_one_of_several_runs_tells(tmp_path, seed):
    draw = planted(1, seed)
    fault = ["--fault", "hung-collective/stuck", "--fault-rank", draw.rank, "--fault-at", draw.at]
    with run_of_each_rank(draw, tmp_path, draw.rank, *fault) as jobs:
        wait_until_stuck(tmp_path, jobs[draw.rank])
        wait_for(lambda: lines_of(tmp_path / "told"), jobs[draw.rank])
        time.sleep(4)
        assert lines_of(tmp_path / "told") == [str(draw.rank)]


@pytest.mark.parametrize("killed", ["before the stall", "while it lasts"])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_the_next_run_takes_over(tmp_path, killed, seed):
    """The `run` that looks is killed, and hands nothing on; what it has told is not told again."""
    draw = trainer.Draw(seed, f"status-take-over-{killed}", 2)
    draw.epochs, draw.timeout = 500, 1000
    first, other = draw.rank, 1 - draw.rank
    with run_of_each_rank(draw, tmp_path, first) as jobs:
        wait_for(lambda: trains(tmp_path), jobs[other])
        if killed == "before the stall":
            jobs[first].kill()
        os.kill(pid_of_rank(tmp_path, other), signal.SIGSTOP)
        wait_for(lambda: lines_of(tmp_path / "told"), jobs[other])
        jobs[first].kill()
        time.sleep(4)
        assert lines_of(tmp_path / "told") == [str(other if killed == "before the stall" else first)]
        assert status(tmp_path).code == 1


@pytest.mark.long
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_what_a_killed_run_told_is_told_again_of_the_next_job(tmp_path, seed):
    """Killed with its job in the middle of a stall it leaves its lock file, and the stall in it."""
    draw = planted(0, seed)
    command = [trainer.TRAINER, *draw.arguments(), "--workdir", tmp_path / "out", "--fault", "hung-collective/stuck",
               "--fault-rank", draw.rank, "--fault-at", draw.at]
    for jobs in (1, 2):
        with live_jobs.running(command, tmp_path, "--cpu", "--on-hang", "echo told >> told") as job:
            wait_for(lambda: len(lines_of(tmp_path / "told")) == jobs, job)
        assert (tmp_path / "trace" / ".lock").stat().st_size > 0


def follow(folder, out):
    return subprocess.Popen([ddpscope.DDPSCOPE, "status", folder / "trace", "--follow"], stdin=subprocess.DEVNULL, stdout=out,
                            stderr=subprocess.PIPE)


@pytest.mark.parametrize("terminal", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_follow_tells_what_changes(tmp_path, terminal, seed):
    draw = trainer.Draw(seed, f"status-follow-stall-{terminal}", 2)
    draw.epochs, draw.timeout = 60, 1000
    reader, writer = pty.openpty() if terminal else os.pipe()
    with running(draw, tmp_path) as job:
        wait_for(lambda: trains(tmp_path), job)
        watch = follow(tmp_path, writer)
        os.close(writer)
        pid = pid_of_rank(tmp_path, draw.rank)
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: status(tmp_path).code == 1, job)
        time.sleep(2.5)  # two looks of --follow
        os.kill(pid, signal.SIGCONT)
        text = read_to_its_end(reader)
        assert watch.wait(timeout=60) == 0, watch.stderr.read()
    stuck = text.index("stuck for ")
    assert f"rank {draw.rank} is stopped" in text or f"rank {draw.rank} never came" in text, text
    assert text.index("ended: 2 ranks, all ended with exit code 0") > stuck
    assert ("\x1b[" in text) == terminal
    if not terminal:
        said = [line for line in text.splitlines() if re.match(r"\d+\.\d s ", line)]
        assert len(said) < 12, "a paragraph for each change, not for each look"


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_follow_from_before_the_first_trace_and_over_a_restart(tmp_path, seed):
    draw = trainer.Draw(seed, "status-follow-restart", 2)
    draw.epochs = 60
    train = " ".join(str(word) for word in [trainer.TRAINER, *draw.arguments(), "--workdir", tmp_path / "out"])
    reader, writer = os.pipe()
    (tmp_path / "trace").mkdir()
    watch = follow(tmp_path, writer)
    os.close(writer)
    assert b"no trace yet; waiting for one" in watch.stderr.readline()
    with live_jobs.running(["sh", "-c", f"{train}; sleep 2.5; {train}"], tmp_path, "--cpu"):
        text = read_to_its_end(reader)
        assert watch.wait(timeout=60) == 0, watch.stderr.read()
    assert text.count("ended: 2 ranks, all ended with exit code 0") == 2, text


@pytest.mark.long
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_ranks_that_end_during_a_look_have_an_exit_code(tmp_path, seed):
    """Looks without a pause: of those in 20 endings, some fall between the reading of a trace and the question to /proc."""
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        draw = trainer.Draw(seed, f"status-ending-{number}", 4)
        draw.epochs, texts = 1, []
        with running(draw, folder) as job, concurrent.futures.ThreadPoolExecutor(6) as pool:

            def look():
                while job.poll() is None:
                    texts.append(status(folder).stdout)

            for done in [pool.submit(look) for _ in range(6)]:
                done.result()
        texts.append(status(folder).stdout)
        assert texts[-1].startswith("ended: 4 ranks, all ended with exit code 0"), texts[-1]
        assert not any("is gone" in text for text in texts), texts


def read_to_its_end(descriptor):
    text = b""
    with contextlib.suppress(OSError):  # a terminal without a writer
        while part := os.read(descriptor, 65536):
            text += part
    os.close(descriptor)
    return text.decode()
