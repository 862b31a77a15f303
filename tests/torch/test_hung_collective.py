"""Hangs on Gloo that are over when they are reported on: who did not come, by where `ddpscope run` saw the threads."""
import os
import signal
import time

import ddpscope
import live_jobs
import pytest
from jobs import SCRIPTS, Job, evidence_of

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
SCRIPT = SCRIPTS / "halting_rank.py"
TIMEOUT_S = 32  # on a busy machine steps take seconds, and a rank that sleeps is given ten times as long as others took


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def end(job, folder, how):
    """As a launcher, a user at a terminal and a scheduler do; or the job gives up by itself."""
    pids = live_jobs.pids(folder)
    if how == "kill":
        for pid in [job.pid, *pids]:
            os.kill(pid, signal.SIGKILL)
    elif how != "timeout":
        os.killpg(job.pid, {"interrupt": signal.SIGINT, "terminate": signal.SIGTERM}[how])
    job.wait(timeout=240 if how == "timeout" else 90)  # the first counts from the job's start
    deadline = time.monotonic() + 30
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, (folder / "log").read_text()[-3000:]
        time.sleep(0.1)


def wait_until(folder, job, code, text):
    # On a busy machine PyTorch needs a minute to start four ranks.
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        told = live_jobs.status(folder) if (folder / "trace").exists() else None
        trains = "it trains" in (folder / "log").read_text()  # a newer PyTorch imports for seconds when the optimizer is made
        if told and told.code == code and text in told.stdout and trains:
            return
        assert job.poll() is None, (folder / "log").read_text()[-3000:]
        time.sleep(0.5)
    raise AssertionError((folder / "log").read_text()[-3000:])


def halt(folder, seed, name, ranks, how, seen, *arguments):
    """Ends a job of which a rank drawn from the seed has halted some seconds ago; returns the rank and the report.

    Before that `status` has to end with the code and say the text of `seen`, in which RANK stands for the rank. A job that
    ends at its own time limit does not wait for what another process sees: there `seen` is None.
    """
    rng = ddpscope.draw(seed, f"hung/{name}/{how}/{ranks}")
    rank = rng.randrange(ranks)
    timeout = TIMEOUT_S if how == "timeout" else 600
    job = Job(SCRIPT.name, ranks=ranks,
              arguments=["--rank", rank, "--at", rng.randrange(5, 40), "--timeout", timeout, *arguments])
    with live_jobs.running(job.command(), folder) as running:
        if seen:
            code, text = seen
            wait_until(folder, running, code, text.replace("RANK", str(rank)))
            time.sleep(3)  # looks at the threads, a second apart
        end(running, folder, how)
    return rank, ddpscope.report(folder / "trace")


def coverage_of_the_end(report):
    return [row for row in report["coverage"] if row["what"] == "how the job came to its end"]


@pytest.mark.parametrize("way, how, inside, ranks", [
    *(pytest.param("sleep", how, "clock_nanosleep", ranks, marks=pytest.mark.long) for how, ranks in [("terminate", 4), ("interrupt", 2)]),
    *(pytest.param("read", "kill", "socket_read", ranks, marks=pytest.mark.long) for ranks in (2, 4)),
    *(("sleep", "timeout", "clock_nanosleep", ranks) for ranks in (2, 4))])
def test_the_rank_that_did_not_come_is_named(tmp_path, seed, way, how, inside, ranks):
    rank, report = halt(tmp_path, seed, way, ranks, how, None if how == "timeout" else (1, "rank RANK never came"), "--halt", way)
    findings = report["findings"]
    assert [finding["slug"] for finding in findings] == ["hung-collective"], report
    finding = findings[0]
    assert finding["ranks"] == [rank]
    assert f"rank {rank} never came: it " in finding["title"] and f"inside {inside}" in finding["title"], finding["title"]
    others = [other for other in range(ranks) if other != rank]
    assert finding["title"].startswith("rank" + ("s " if ranks > 2 else " ") + str(others[0])), finding["title"]
    # The collectives are made in the backward pass; the last call that left a record may be one of the forward pass.
    steps = range(ddpscope.line_of(SCRIPT, "model(x)"), ddpscope.line_of(SCRIPT, "loss.backward()") + 1)
    for other in others:
        frames = [frame for step in evidence_of(finding, other) for frame in step["stack"]]
        assert any(f"{SCRIPT.name}:{line} " in frame for line in steps for frame in frames), finding
    assert evidence_of(finding, rank), finding


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_barrier_that_one_rank_runs(tmp_path, seed, ranks):
    """All wait, until Gloo gives up: each in a call of its own."""
    rank, report = halt(tmp_path, seed, "barrier", ranks, "timeout", None, "--halt", "barrier")
    finding, = report["findings"]
    # Of two nobody knows which is right: the one that left it out is named.
    assert finding["slug"] == "skipped-barrier" and finding["ranks"] == [rank if ranks > 2 else 1 - rank], finding
    assert "hung-collective" in finding["consequences"], finding
    barrier = ddpscope.line_of(SCRIPT, "dist.barrier()  # which no other")
    assert any(f"{SCRIPT.name}:{barrier} " in frame for step in evidence_of(finding, rank) for frame in step["stack"]), finding


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_thread_of_its_own_is_waited_for(tmp_path, seed, ranks):
    """By what goes over TCP nobody knows who is missing, by the collectives of the process group one does."""
    rank, report = halt(tmp_path, seed, "thread", ranks, "timeout", None, "--halt", "thread")
    finding, = report["findings"]
    assert finding["slug"] == "hung-collective" and finding["ranks"] == [rank], finding
    assert f"rank {rank} never came: " in finding["title"] and SCRIPT.name in finding["title"], finding


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_rank_at_work_is_not_accused(tmp_path, seed, ranks):
    """An evaluation, or a loop without end: from outside they are the same."""
    _, report = halt(tmp_path, seed, "compute", ranks, "terminate", (0, "slow for "), "--halt", "compute", "--seconds", 300)
    assert report["findings"] == [], report
    unjudged = [row for row in report["coverage"] if "hung-collective" in row["unjudged"]]
    assert any("looks like work" in row["why"] or "was at work when the job was ended" in row["why"] for row in unjudged), unjudged


@pytest.mark.parametrize("how, ranks", [pytest.param("terminate", 4, marks=pytest.mark.long), ("kill", 2)])
def test_a_job_that_trains_is_not_accused(tmp_path, seed, ranks, how):
    _, report = halt(tmp_path, seed, "no", ranks, how, (0, "no rank waits longer than usual"), "--steps", 300000)
    assert report["findings"] == [] and coverage_of_the_end(report) == [], report
