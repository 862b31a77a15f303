"""How many instructions a hooked call takes beyond a bare one: no machine's load changes that."""
import os
import pathlib
import shutil

import pytest

import scenarios

BUILD = pathlib.Path(os.environ["DDPSCOPE_BUILD"])

# A quarter above what was counted when the row was last changed: compilers differ, and a little may be added.
LIMITS = {
    "NCCL call, counts differ, tmpfs": 420,
    "NCCL call that recurs, 25 kinds": 790,
    "NCCL call below 20 native frames": 1450,
    "NCCL call below 20 Python frames": 1210,
    "copy of 4 KiB to the device": 8400,
    "copy of 32 KiB": 43800,
    "copy of 1 MiB": 13200,
    "number copied to the host": 5020,
    "collective timed by events": 930,
    "collective told by NCCL's profiler interface": 4600,
    "kernel launched, 25 in turn": 700,
    "the same, CUPTI's ids given": 770,
    "100 kernels that CUPTI tells of": 58900,
    "PyTorch's all-reduce and its wait": 2730,
    "gradient given to PyTorch's reducer, not recorded": 190,
    "read of what is not recorded": 45,
    "write to what is not recorded": 50,
    "send through a socket": 390,
    "event descriptor written and read": 1460,
    "semop": 450,
    "name looked for in vain, no trace yet": 2980,
    "name looked for and found": 1240,
    "end of a file sought": 840,
    "entry of a folder read": 350,
    "mutex locked and unlocked, 10 times": 1830,
    "the same, another thread had it": 3490,
    "the same, six threads had it before": 6550,
    "signal without a waiter, 10 times": 1890,
    "semaphore posted and taken, 10 times": 1990,
    "mutex, DDPSCOPE_DISABLE=1, 10 times": 1000,
    "NCCL call, DDPSCOPE_DISABLE=1": 165,
    "read, DDPSCOPE_DISABLE=1": 90,
}


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.parametrize("scenario", [s for s in scenarios.SCENARIOS if not s.on_disk], ids=lambda s: s.name)
def test_within_limit(scenario):
    counted = scenarios.instructions(scenario, BUILD)
    assert counted <= LIMITS[scenario.name], f"{counted:.0f} instructions a call"
