"""Jobs that run while a test looks at them with `ddpscope status`: recorded into FOLDER/trace, their output in FOLDER/log."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time

import ddpscope


@contextlib.contextmanager
def running(command, folder, *options):
    """The job under `ddpscope run`; killed with all its processes at the end of the block."""
    words = [ddpscope.DDPSCOPE, "run", *options, "-o", folder / "trace", "--", *command]
    with open(folder / "log", "a") as log:
        job = subprocess.Popen([str(word) for word in words], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                               start_new_session=True)
    try:
        yield job
    finally:
        recorded = pids(folder) if job.poll() is None else []  # torchrun gives each rank a session of its own
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
        for pid in recorded:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        job.wait()


def status(folder, *options, timeout=120):
    return ddpscope.start([ddpscope.DDPSCOPE, "status", folder / "trace", *options], cwd=folder, timeout=timeout)


def processes(folder):
    """[(pid, what it is)] as `ddpscope info` tells: "rank 1 (by RANK)", "launcher"."""
    told = ddpscope.start([ddpscope.DDPSCOPE, "info", folder / "trace"], cwd=folder).stdout
    return [(int(pid), what) for pid, what in re.findall(r"^\S+:(\d+) ((?:rank|launcher|worker)\b.*)", told, re.MULTILINE)]


def pids(folder):
    return [pid for pid, _ in processes(folder)]


def pid_of_rank(folder, rank):
    """None before it records."""
    return next((pid for pid, what in processes(folder) if what.startswith(f"rank {rank} ")), None)


def stop(job, folder):
    """All its processes stand still when this returns: on a busy machine a thread takes its time until it takes note."""
    os.killpg(job.pid, signal.SIGSTOP)
    tasks = [stat for pid in pids(folder) for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")]
    wait_for(lambda: all(stat.read_text().rsplit(")", 1)[1].split()[0] in "TZX" for stat in tasks if stat.exists()), job)


def wait_for(condition, job, seconds=60, between=0.25):
    """What it tells as soon as that is anything."""
    for _ in range(int(seconds / between)):
        assert job.poll() is None
        if told := condition():
            return told
        time.sleep(between)
    raise AssertionError("waited in vain")
