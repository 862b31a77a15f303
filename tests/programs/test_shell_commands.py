"""A shell leaves no trace, the program that it starts does: the job is judged all the same."""
import pathlib
import sys

import ddpscope
import pytest

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
PROGRAM = pathlib.Path(__file__).parent / "shell_commands.py"
HOWS = ["system", "run", "beside"]


def record(folder, *arguments):
    done = ddpscope.record(["timeout", "60", sys.executable, PROGRAM, *arguments], folder / "trace", folder)
    assert done.code == 0, done.stderr
    return ddpscope.report(folder / "trace")["findings"]


@pytest.mark.parametrize("how", HOWS)
def test_is_not_accused(tmp_path, how, seed):
    assert record(tmp_path, how) == []


@pytest.mark.parametrize("how", HOWS)
def test_left_out_is_found(tmp_path, how, seed):
    (finding,) = record(tmp_path, how, "--forget")
    assert (finding["slug"], finding["confidence"]) == ("missing-barrier", "certain")
    assert finding["ranks"] == [0, 1]
