"""Starts jobs with and without `ddpscope run` and reads `ddpscope report`: for tests of whole programs."""
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import signal
import subprocess
import time
import warnings

import pytest

import hold_ups

BUILD = pathlib.Path(os.environ["DDPSCOPE_BUILD"])
DDPSCOPE = BUILD / "bin" / "ddpscope"

# One seed a job in CI; DDPSCOPE_SEEDS="1 2 3" repeats every test with other draws.
SEEDS = [int(seed) for seed in os.environ.get("DDPSCOPE_SEEDS", "1").split()]


@dataclasses.dataclass
class Finished:
    code: int
    stdout: str
    stderr: str


# How long whom a job left behind may hold its output: loader workers look every 5 s whether their rank still lives.
LEFT_BEHIND_SECONDS = 60


def start(command, cwd, env=None, timeout=240, may_leave=False, hold=False):
    """Runs command to its end; after `timeout` seconds ends it with all that it started, says so and fails the test.

    So it does with processes that the command leaves behind and that still hold its output a minute later; may_leave: it is
    a job in which ranks fail or are ended, and may leave loader workers: they are ended all the same, with a warning.
    """
    process = subprocess.Popen([str(word) for word in command], cwd=cwd, env={**os.environ, **(env or {})},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    with hold_ups.held_up(process, descendants) if hold else contextlib.nullcontext():
        return wait_for_end(process, command, timeout, may_leave)


def wait_for_end(process, command, timeout, may_leave):
    limit = time.monotonic() + timeout
    seen_to_end = None
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            stdout, stderr = process.communicate(timeout=5)
            return Finished(process.returncode, stdout, stderr)
        if process.poll() is not None:
            seen_to_end = seen_to_end or time.monotonic()
        if time.monotonic() > (seen_to_end + LEFT_BEHIND_SECONDS if seen_to_end else limit):
            break
    killed = kill_job(process)
    stdout, stderr = process.communicate(timeout=60)
    why = f"it ended with {process.returncode}, but left processes behind" if seen_to_end else f"no end after {timeout} s"
    text = f"{why}: {command}\nkilled: {killed}\n"
    if not (seen_to_end and may_leave):
        raise AssertionError(f"{text}{stdout[-2000:]}\n{stderr[-2000:]}")
    warnings.warn(text)
    return Finished(process.returncode, stdout, stderr)


def kill_job(process):
    """Kills a process with its children, and who else holds its output: {pid: command line} of all of them.

    Launchers give ranks sessions of their own; who outlives its parent (a loader worker of a rank that failed) is nobody's
    child, and reading the output would last as long as it lives.
    """
    killed = {}
    family = [process.pid, *descendants(process.pid)] if process.poll() is None else []
    for pids in (lambda: family, lambda: holders([process.stdout, process.stderr])):
        while new := [pid for pid in pids() if pid not in killed]:
            for pid in new:
                killed[pid] = "gone"
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    killed[pid] = pathlib.Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
                    os.kill(pid, signal.SIGKILL)
    return killed


def holders(pipes):
    """Processes, besides this one, with a descriptor of one of these pipes."""
    names = {f"pipe:[{os.fstat(pipe.fileno()).st_ino}]" for pipe in pipes if not pipe.closed}
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            if any(target_of(fd) in names for fd in folder.iterdir()) and int(folder.parent.name) != os.getpid():
                found.append(int(folder.parent.name))
    return found


def target_of(fd):
    with contextlib.suppress(FileNotFoundError):  # closed meanwhile
        return os.readlink(fd)


def descendants(pid):
    """Of a process that lives: its children, theirs and so on."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *descendants(int(child))]
    return found


def record(command, trace, cwd, cpu=False, env=None, timeout=240, may_leave=False, gpu_timing="auto"):
    """The same under `ddpscope run -o trace`; cpu: on the stand-ins of CUDA and NCCL."""
    run = [DDPSCOPE, "run", *(["--cpu"] if cpu else []), "--gpu-timing", gpu_timing, "-o", trace, "--"]
    return start(run + list(command), cwd, env, timeout, may_leave, hold=True)


def record_and_signal(command, trace, cwd, how, seconds, cpu=False):
    """Records a job whose process group is sent `how`, as by a user at a terminal, `seconds` after it made the file begun."""
    run = [DDPSCOPE, "run", *(["--cpu"] if cpu else []), "-o", trace, "--", *command]
    with open(cwd / "log", "w") as log:
        job = subprocess.Popen([str(word) for word in run], cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                               start_new_session=True)
    try:
        deadline = time.monotonic() + 180  # on a busy machine PyTorch needs a minute to start four ranks
        while not (cwd / "begun").exists():
            assert job.poll() is None and time.monotonic() < deadline, (cwd / "log").read_text()[-3000:]
            time.sleep(0.1)
        time.sleep(seconds)
        assert job.poll() is None, (cwd / "log").read_text()[-3000:]
        os.killpg(job.pid, how)
        job.wait(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def report(trace, *options):
    """The JSON report of a trace; `ddpscope report` exits 1 when it has findings."""
    done = start([DDPSCOPE, "report", trace, "--format", "json", *options], cwd=pathlib.Path(trace).parent)
    assert done.code in (0, 1), done.stderr
    return json.loads(done.stdout)


def only_finding(trace, slug):
    """The finding `slug`, which must be the only one of the trace."""
    done = report(trace)
    for entry in done["coverage"]:
        if entry["why"] == "not in this version" and slug in entry["unjudged"]:
            pytest.skip(f"recorded, but {slug} has no detector in this version")
    findings = done["findings"]
    assert [finding["slug"] for finding in findings] == [slug], json.dumps(findings, indent=1)[:4000]
    return findings[0]


def frames(finding, rank):
    """All stack frames, "file:line function", of what a finding says about one rank."""
    return [frame for step in finding["evidence"] if step["rank"] == rank for frame in step.get("stack", [])]


def line_of(source, text):
    """The number of the only line of a source file that contains text."""
    lines = [number for number, line in enumerate(source.read_text().splitlines(), 1) if text in line]
    assert len(lines) == 1, f"{text!r} stands {len(lines)} times in {source}"
    return lines[0]


def draw(seed, test):
    """The random source of one test: the same for the same seed, another one for another test."""
    return random.Random(f"{test}/{seed}")
