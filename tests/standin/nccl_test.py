"""The stand-in NCCL, used by programs of several ranks as they would use the real one."""

import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["DDPSCOPE_BUILD"])
STANDINS = " ".join(str(BUILD / "lib/standin" / name) for name in ("libcudart.so.13", "libnccl.so.2"))


class Job:
    """Ranks of one program; `end` waits for all of them and gives their exit codes and standard errors."""

    def __init__(self, directory: Path, size: int, *command: str, **environment: str):
        program = BUILD / "bin" / command[0]
        self.ranks = [
            subprocess.Popen(
                [program, *command[1:]],
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "LD_PRELOAD": STANDINS, "NCCL_DEBUG": "WARN", **environment,
                     "RANK": str(rank), "WORLD_SIZE": str(size), "JOB_DIR": str(directory)},
            )
            for rank in range(size)
        ]

    def end(self, timeout_s: float = 120):
        try:
            errors = [rank.communicate(timeout=timeout_s)[1] for rank in self.ranks]
        finally:
            for rank in self.ranks:
                rank.kill()
        return [rank.returncode for rank in self.ranks], errors


@pytest.fixture
def run(tmp_path):
    def start_and_wait(size: int, *command: str, **environment: str):
        return Job(tmp_path, size, *command, **environment).end()

    return start_and_wait


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_every_function_type_and_reduction_gives_the_right_numbers(run, size):
    codes, errors = run(size, "nccl_numerics")
    assert codes == [0] * size, "".join(errors)
