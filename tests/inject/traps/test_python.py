"""Python stacks without the GIL: of every version and build of CPython that is here, compared with what it says itself."""
import json
import os
import pathlib
import subprocess

import pytest

import interpreters
import recording
from recording import INJECTOR, SOURCE, TRAPS

FOLDER = pathlib.Path(__file__).parent
MOST = 64  # frames of a stack
FRAMES, TEXT, FINDER = (f"injector/python/{name}.cpp" for name in ("frames", "python_text", "interpreter"))
ALL = [(version, kind) for version in interpreters.VERSIONS for kind in interpreters.KINDS]
every_interpreter = pytest.mark.parametrize("version, kind", ALL)


def run(interpreter, folder, *arguments, **settings):
    return recording.run([*interpreter.command, *arguments], folder, environment=interpreter.environment, **settings)


def run_text(interpreter, folder, text, *arguments, **settings):
    (folder / "train.py").write_text(text)
    return run(interpreter, folder, "train.py", *arguments, **settings)


def check_frames(interpreter, folder, depth, *options, injector=INJECTOR):
    guest, trace = run(interpreter, folder, *options, FOLDER / "python_guest.py", TRAPS / "libtrap_consumer.so", depth,
                       injector=injector)
    assert guest.returncode == 0, guest.stderr
    told = {int(count): frames[:MOST] for count, frames in json.loads(guest.stdout).items()}
    assert {int(r["count"]): r.stack for r in trace.calls("ncclAllReduce")} == told and len(told) > 40
    assert "python_stack_off" not in trace.health
    return trace


@every_interpreter
def test_frames(version, kind, tmp_path):
    check_frames(interpreters.find(version, kind), tmp_path, 1000)


GUARDS = [*((version, FRAMES, "if (is_entry(in, frame)) continue;", "") for version in ("3.12", "3.13", "3.14", "3.15")),
          ("3.11", FRAMES, "at<Address>(place.code, in.code_file_name)", "at<Address>(place.code, in.code_name)"),
          ("3.11", TEXT, "if (!(state & string::kCompact)) return at<Address>(text, layout->string_data);", "")]


@pytest.mark.parametrize("version, file, text, without", GUARDS)
def test_frames_guard(version, file, text, without, tmp_path):
    """Entries from C are no frames; code may lie where another file's was; a name may be an instance of a subclass."""
    mutant = recording.build_mutant([(file, text, without)], [file])
    with pytest.raises(AssertionError):
        check_frames(interpreters.find(version, "static"), tmp_path, 100, injector=mutant)


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_frames_behind_trampolines(version, tmp_path):
    """`-X perf` puts a piece of machine code before each Python function; it allows for fewer calls within calls."""
    trace = check_frames(interpreters.find(version, "static"), tmp_path, 300, "-X", "perf")
    pathlib.Path(f"/tmp/perf-{trace.records[0].pid}.map").unlink()


CLASSES = """import ctypes, sys
consumer = ctypes.CDLL(sys.argv[1])
class Job:
    def __init__(self, count):
        consumer.consume(count)
def make(count):
    Job(count)
for count in range(1, 200):
    make(count)
"""


def check_class_calls(interpreter, folder, injector=INJECTOR):
    """Once they are warm, a frame of the interpreter's own stands between the two from 3.12 on."""
    guest, trace = run_text(interpreter, folder, CLASSES, TRAPS / "libtrap_consumer.so", injector=injector)
    calls = trace.calls("ncclAllReduce")
    assert guest.returncode == 0 and len(calls) == 199, guest.stderr
    assert {tuple(frame.rsplit("/", 1)[-1].replace("Job.", "") for frame in call.stack) for call in calls} == {
        ("train.py:5 __init__", "train.py:7 make", "train.py:9 <module>")}


@every_interpreter
def test_class_calls(version, kind, tmp_path):
    check_class_calls(interpreters.find(version, kind), tmp_path)


def test_class_calls_guard(tmp_path):
    stack = "injector/python/python_stack.cpp"
    mutant = recording.build_mutant([(stack, " || is_cleanup(place)", "")], [stack])
    with pytest.raises(AssertionError):
        check_class_calls(interpreters.find("3.13", "static"), tmp_path, injector=mutant)


AUTOGRAD = """import ctypes, sys
consumer, autograd = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
def train():
    consumer.consume(1)
    for count in range(2, 5):
        autograd.backward(count)
    autograd.backward(5)
train()
"""


@every_interpreter
def test_waiting_thread(version, kind, tmp_path):
    """A thread without frames of its own works for the main thread, which waits without the GIL."""
    guest, trace = run_text(interpreters.find(version, kind), tmp_path, AUTOGRAD, TRAPS / "libtrap_consumer.so",
                            TRAPS / "libtrap_autograd.so")
    lines = [int(r.stack[0].split(":")[1].split()[0]) for r in trace.calls("ncclAllReduce")]
    assert guest.returncode == 0 and lines == [4, 6, 6, 6, 7]
    assert {tuple(f.split()[1] for f in r.stack) for r in trace.calls("ncclAllReduce")} == {("train", "<module>")}


RUNNING = """import ctypes, sys, threading
consumer, autograd = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
consumer.consume(1)
thread = threading.Thread(target=autograd.backward, args=[2])
thread.start()
while thread.is_alive():
    sum(range(100))
"""


@every_interpreter
def test_running_thread(version, kind, tmp_path):
    """The main thread runs: what another does is not its doing."""
    guest, trace = run_text(interpreters.find(version, kind), tmp_path, RUNNING, TRAPS / "libtrap_consumer.so",
                            TRAPS / "libtrap_autograd.so")
    assert guest.returncode == 0 and trace.counts() == [1, 2]
    assert not any("train.py" in frame for frame in trace.calls("ncclAllReduce")[1].stack)


INTERPRETERS = """import os
try:
    import _interpreters
except ImportError:
    import _xxsubinterpreters as _interpreters
def touch(name):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
def run():
    other = _interpreters.create()
    _interpreters.run_string(other, '''
import os
def inside():
    os.close(os.open("inside", os.O_CREAT | os.O_WRONLY))
inside()
''')
    touch("between")
    _interpreters.destroy(other)
    touch("after")
run()
"""


@every_interpreter
def test_another_interpreter(version, kind, tmp_path):
    """Up to 3.11 a thread's frames in another interpreter are not found by its state: the main one's caller is told."""
    guest, trace = run_text(interpreters.find(version, kind), tmp_path, INTERPRETERS)
    assert guest.returncode == 0, guest.stderr
    stacks = {pathlib.Path(r["path"]).name: r.stack for r in trace.calls("open64", "open", "openat")}
    caller = ["train.py:10 run", "train.py:19 <module>"]
    file = "<string>" if version in ("3.12", "3.13") else "<script>"
    own = [f"{file}:4 inside", f"{file}:5 <module>"]
    assert [frame.rsplit("/", 1)[-1] for frame in stacks["inside"]] == (caller if version in ("3.8", "3.9", "3.10", "3.11") else own)
    for name, line in (("between", 16), ("after", 18)):
        assert [frame.rsplit("/", 1)[-1] for frame in stacks[name]] == [
            "train.py:7 touch", f"train.py:{line} run", "train.py:19 <module>"]


ENDING = """import atexit, os, sys, threading, time
def touch(name, open=os.open, close=os.close, flags=os.O_CREAT | os.O_WRONLY):
    close(open(name, flags))
class Late:
    def __del__(self, touch=touch):
        touch("late")
sys.late = Late()
atexit.register(touch, "atexit")
def work():
    while True:
        touch("daemon")
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.02)
"""


@every_interpreter
def test_end(version, kind, tmp_path):
    """Threads run on while Python ends; objects are destroyed when it no longer has frames to tell."""
    for number in range(5):
        guest, trace = run_text(interpreters.find(version, kind), tmp_path, ENDING, trace=str(number))
        assert guest.returncode == 0, guest.stderr
        stacks = {pathlib.Path(r["path"]).name: r.stack for r in trace.calls("open64", "open", "openat")}
        assert [f.rsplit("/", 1)[-1] for f in stacks["atexit"]] == ["train.py:3 touch"]
        assert "train.py" not in stacks["late"][0] and "python_stack_off" not in trace.health


JOB = """import os, subprocess, sys
def save(step):
    with open(f"{step}.pt", "wb") as file:
        file.write(bytes([step]) * 100000)
class Trainer:
    def fit(self):
        for step in range(3):
            save(step)
if "RANK" in os.environ:
    Trainer().fit()
else:
    names = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    ranks = [subprocess.Popen([*sys.argv[1:]], env={**os.environ, **names, "RANK": str(rank)}) for rank in range(2)]
    sys.exit(any([rank.wait() for rank in ranks]))
"""


@every_interpreter
def test_finding_names_the_line(version, kind, tmp_path):
    interpreter = interpreters.find(version, kind)
    (tmp_path / "train.py").write_text(JOB)
    command = [*interpreter.command, "train.py"]
    ddpscope = [recording.BUILD / "bin" / "ddpscope"]
    subprocess.run([*ddpscope, "run", "-o", "trace", "--", *command, *command], cwd=tmp_path, check=True,
                   env={**os.environ, **interpreter.environment})
    report = subprocess.run([*ddpscope, "report", "trace"], cwd=tmp_path, capture_output=True, text=True)
    text = " ".join(report.stdout.split())
    assert report.returncode == 1 and "train.py:3 save: 300000 bytes too many" in text.replace(f"{tmp_path}/", "")
    assert f"train.py:8 {'Trainer.' * (version not in ('3.8', '3.9', '3.10'))}fit" in text


@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_layout_is_that_of_the_headers(version, tmp_path):
    headers = {each.facts["include"] for each in interpreters.ordinary(version)}
    headers = [folder for folder in headers if pathlib.Path(folder, "internal").is_dir()]
    if not headers:
        pytest.skip(f"no headers of CPython {version} here")
    for folder in headers:
        include = ["-I", SOURCE, "-isystem", folder, "-idirafter", pathlib.Path(folder).parent]
        subprocess.run(["cc", *include, FOLDER / "python_layouts.c", "-o", tmp_path / "layouts"], check=True)
        subprocess.run([tmp_path / "layouts"], check=True)


ONCE = "import ctypes, sys\nfor count in range(3): ctypes.CDLL(sys.argv[1]).consume(count)\n"


def check_refused(interpreter, folder, injector=INJECTOR):
    guest, trace = run_text(interpreter, folder, ONCE, TRAPS / "libtrap_consumer.so", injector=injector)
    assert guest.returncode == 0 and trace.health["python_stack_off"] >= 3
    assert all("libtrap_consumer" in r.stack[0] for r in trace.calls("ncclAllReduce"))


def shifted(version, fact, by):
    """The row of layouts.def for `fact`, and with that version's offset moved."""
    text = (SOURCE / "injector/python/layouts.def").read_text()
    row = next(line for line in text.splitlines() if line.startswith(f"DDPSCOPE_PYTHON({fact},"))
    values = row[row.index(",") + 1:-1].split(",")
    column = interpreters.VERSIONS.index(version)
    values[column] = str(int(values[column]) + by)
    return "injector/python/layouts.def", row, f"DDPSCOPE_PYTHON({fact},{','.join(values)})"


WRONG = [("3.11", "thread_frame", 8), ("3.11", "frame_code", 8), ("3.11", "frame_previous", 8), ("3.11", "code_file_name", -8),
         ("3.11", "code_name", 8), ("3.13", "frame_instruction", 8), ("3.13", "string_ascii_data", 8),
         ("3.13", "thread_status", 4), ("3.15", "frame_owner", 4)]


@pytest.mark.parametrize("version, fact, by", WRONG)
def test_wrong_layout_is_refused(version, fact, by, tmp_path):
    """As it would be in a build that moved something: what an offset leads to is looked at before it is used, and 3.13 says
    itself where things are."""
    interpreter = interpreters.find(version, "static")
    check_refused(interpreter, tmp_path, recording.build_mutant([shifted(version, fact, by)], [FRAMES, FINDER]))


def test_unfinished_version_is_refused(tmp_path):
    """The layout of 3.13.0a1 need not be that of 3.13.0."""
    start = "find_layout() {"
    change = (FINDER, start, start + ' symbols.version = [] { return "3.11.0a7 (main)"; };')
    check_refused(interpreters.find("3.11", "static"), tmp_path, recording.build_mutant([change], [FINDER]))


OTHERS = {"python3.6": "", "python3.7": "", "python3.13t": "free_threaded", "python3.14t": "free_threaded", "python3.15t": "free_threaded",
          "python3.11-dbg": "debug", "python3.13-dbg": "debug"}


@pytest.mark.parametrize("name", OTHERS)
def test_other_interpreters_are_refused(name, tmp_path):
    others = [each for each in interpreters.installed(name) if not OTHERS[name] or each.facts[OTHERS[name]]]
    if not others:
        pytest.skip(f"no {name} here")
    check_refused(others[0], tmp_path)


def test_interpreter_that_takes_a_lock_is_not_asked(tmp_path):
    """CPython 2.7 waits for a semaphore under the lock that it needs to name the running thread."""
    guest, trace = recording.run([TRAPS / "old_python"], tmp_path)
    assert guest.returncode == 0 and trace.health["python_stack_off"] >= 1
    assert len(trace.calls("sem_wait")) == 1
