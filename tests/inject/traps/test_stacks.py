"""Who called: the Python stack without the GIL, and the native one."""
import re
import subprocess

import pytest

import recording
from recording import INJECTOR, TRAPS

PYTHON = "/usr/bin/python3"
STACK = "injector/python/python_stack.cpp"


def write(folder, text):
    program = folder / "train.py"
    program.write_text(text)
    return program


def functions(record):
    return [re.sub(r"^.*/train\.py:(\d+) ", r"\1 ", frame) for frame in record.stack]


NAMES = """import ctypes, sys
consumer = ctypes.CDLL(sys.argv[1])
class Trainer:
    def step(self): return [consumer.consume(1) for _ in range(2)]
def größe(n): return größe(n - 1) if n else consumer.consume(2)
Trainer().step()
größe(2)
(lambda: consumer.consume(3))()
"""


def names(folder, injector):
    _, trace = recording.run([PYTHON, write(folder, NAMES), TRAPS / "libtrap_consumer.so"], folder, injector)
    assert [functions(r) for r in trace.calls("ncclAllReduce")] == [
        ["4 Trainer.step.<locals>.<listcomp>", "4 Trainer.step", "6 <module>"]] * 2 + [
        ["5 größe", "5 größe", "5 größe", "7 <module>"], ["8 <lambda>", "8 <module>"]]


AUTOGRAD = """import ctypes, sys
consumer, autograd = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
def train():
    consumer.consume(1)
    autograd.backward(2)
train()
"""


def autograd(folder, injector):
    _, trace = recording.run([PYTHON, write(folder, AUTOGRAD), TRAPS / "libtrap_consumer.so", TRAPS / "libtrap_autograd.so"],
                             folder, injector)
    assert [functions(r) for r in trace.calls("ncclAllReduce")] == [["4 train", "6 <module>"], ["5 train", "6 <module>"]]


TABLE = {
    names: [(STACK, "walk_own_frames(frame, &walk);", "static_cast<void>(frame);")],
    autograd: [(STACK, "walk.count ? id_of(file, walk) : stack_of_waiting_main(file);", "walk.count ? id_of(file, walk) : 0;")],
}


@pytest.mark.parametrize("trap", TABLE, ids=lambda trap: trap.__name__)
def test_python(trap, tmp_path):
    trap(tmp_path, INJECTOR)


@pytest.mark.parametrize("trap", TABLE, ids=lambda trap: trap.__name__)
def test_guard(trap, tmp_path):
    mutant = recording.build_mutant(TABLE[trap], [STACK])
    with pytest.raises(AssertionError):
        trap(tmp_path, mutant)


def test_repeated_stack_is_written_once(tmp_path):
    loop = "import ctypes, sys\nc = ctypes.CDLL(sys.argv[1])\nfor i in range(20000): c.consume(i)\n"
    _, trace = recording.run([PYTHON, write(tmp_path, loop), TRAPS / "libtrap_consumer.so"], tmp_path)
    assert trace.counts() == list(range(20000))
    assert {tuple(functions(r)) for r in trace.calls("ncclAllReduce")} == {("3 <module>",)}
    assert sum(f.stat().st_size for f in trace.files) < 20000 * 72 + 600_000  # records, not stacks


def test_native_line(tmp_path):
    """The innermost frame leads to the line of the call."""
    _, trace = recording.run([TRAPS / "guest", "nested"], tmp_path)
    module, offset = trace.calls("ncclBcast")[0].stack[0].rsplit("+", 1)
    found = subprocess.run(["addr2line", "-e", module, offset], capture_output=True, text=True, check=True).stdout
    source = recording.SOURCE / "tests" / "inject" / "traps" / "guest.cpp"
    number = int(found.strip().rsplit(":", 1)[1].split()[0])
    assert "ncclBcast(nullptr" in source.read_text().splitlines()[number - 1]
