"""The calls whose cost is measured, and how one is run under the preloaded injector."""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent
PYTHON = os.environ.get("DDPSCOPE_BENCH_PYTHON", "/usr/bin/python3")  # whose stacks are read
TMPFS = pathlib.Path("/dev/shm")


@dataclasses.dataclass
class Scenario:
    name: str
    wanted: str
    call: str  # an argument of hooked_calls, or "python"
    frames: int = 0  # of the caller's own stack
    framed: bool = False  # compiled with frame pointers: its native stack is followed
    on_disk: bool = False
    disabled: bool = False
    timing: str = "none"  # the tier: what is measured elsewhere is not to hold it
    most_calls: int = 0  # of one run, if not as many as are asked for

    def calls(self, asked):
        return min(asked, self.most_calls or asked)

    def command(self, build, calls):
        programs = build / "bin" / "bench"
        if self.call == "python":
            return [PYTHON, HERE / "hooked_calls.py", programs / "libtimed_calls.so", calls, self.frames]
        return [programs / ("hooked_calls_framed" if self.framed else "hooked_calls"), self.call, calls, self.frames]


SCENARIOS = [
    Scenario("NCCL call, counts differ, tmpfs", "p50 ≤ 30, mean ≤ 60, p99.9 ≤ 2000", "differing"),
    Scenario("the same, trace on disk", "mean ≤ 100", "differing", on_disk=True),
    Scenario("NCCL call that recurs, 25 kinds", "", "regular"),
    Scenario("NCCL call below 20 native frames", "", "differing", frames=20, framed=True),
    Scenario("NCCL call below 20 Python frames", "≤ 350 more", "python", frames=20),
    Scenario("copy of 4 KiB to the device", "≤ 2000", "copy-4K"),
    Scenario("copy of 32 KiB", "≤ 2000", "copy-32K"),
    Scenario("copy of 1 MiB", "≤ 2000", "copy-1M"),
    Scenario("number copied to the host", "≤ 2000", "value"),
    Scenario("collective timed by events", "", "timed", timing="events", most_calls=2000),
    Scenario("collective told by NCCL's profiler interface", "", "regular", timing="profiler"),
    Scenario("kernel launched, 25 in turn", "", "launch"),
    Scenario("the same, CUPTI's ids given", "", "launch", timing="cupti"),
    Scenario("100 kernels that CUPTI tells of", "", "kernels", timing="cupti", most_calls=10_000),
    Scenario("PyTorch's all-reduce and its wait", "p50 ≤ 200", "group"),
    Scenario("gradient given to PyTorch's reducer, not recorded", "≤ 5", "gradient"),
    Scenario("read of what is not recorded", "≤ 15", "read"),
    Scenario("write to what is not recorded", "≤ 15", "write"),
    Scenario("send through a socket", "", "send"),
    Scenario("event descriptor written and read", "", "event"),
    Scenario("semop", "", "semop"),
    Scenario("name looked for in vain, no trace yet", "", "look"),
    Scenario("name looked for and found", "", "found"),
    Scenario("end of a file sought", "", "end"),
    Scenario("entry of a folder read", "", "entry"),
    Scenario("mutex locked and unlocked, 10 times", "≤ 250", "lock"),
    Scenario("the same, another thread had it", "", "shared-lock"),
    Scenario("the same, six threads had it before", "≤ 250", "crowded-lock"),
    Scenario("signal without a waiter, 10 times", "", "signal"),
    Scenario("semaphore posted and taken, 10 times", "", "post"),
    Scenario("mutex, DDPSCOPE_DISABLE=1, 10 times", "≤ 100", "lock", disabled=True),
    Scenario("NCCL call, DDPSCOPE_DISABLE=1", "≤ 10", "differing", disabled=True),
    Scenario("read, DDPSCOPE_DISABLE=1", "≤ 10", "read", disabled=True),
]


@contextlib.contextmanager
def folder(parent):
    path = pathlib.Path(tempfile.mkdtemp(prefix="ddpscope-bench.", dir=parent))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def run(scenario, build, calls, trace, wrapper=()):
    """What the scenario printed, as a dictionary; its trace is left in the folder `trace`."""
    environment = {**os.environ, "LD_PRELOAD": str(build / "lib" / "libddpscope.so"), "DDPSCOPE_TRACE": str(trace),
                   "DDPSCOPE_DISABLE": "1" if scenario.disabled else "0", "PYTHONHASHSEED": "0", "DDPSCOPE_GPU_TIMING": scenario.timing}
    if scenario.timing == "profiler":
        environment["NCCL_PROFILER_PLUGIN"] = "STATIC_PLUGIN"
    command = [*wrapper, *scenario.command(build, scenario.calls(calls))]
    done = subprocess.run([str(word) for word in command], env=environment, stdout=subprocess.PIPE, text=True,
                          check=True, timeout=300)
    return json.loads(done.stdout)


def instructions(scenario, build, calls=20_000):
    """Instructions that a hooked call takes more than a bare one, counted by callgrind: no load changes them."""
    # Events that are slow, as all is under valgrind, are sampled after a second.
    calls = min(calls, 2000) if scenario.call in ("timed", "kernels") else calls
    with folder(TMPFS) as trace:
        counts = trace / "callgrind"
        run(scenario, build, calls, trace, ["valgrind", "--tool=callgrind", "-q", f"--callgrind-out-file={counts}"])
        table = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", counts], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, timeout=300).stdout
    return (_inclusive(table, "hooked_block") - _inclusive(table, "bare_block")) / calls


def _inclusive(table, function):
    """The largest of the rows that name the function: the others are what was inlined into it."""
    rows = re.findall(rf"^ *([\d,]+) .*\b{function}<", table, re.MULTILINE)
    return max(int(count.replace(",", "")) for count in rows)
