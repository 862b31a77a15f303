"""A trace file that somebody cuts off while it is written: the guest goes on, what was lost is told; SIGBUS is the guest's as before."""
import functools
import os
import re
import signal
import subprocess
import sys

import pytest

import recording

WORKS = """import os, sys, threading
def work(name):
    for number in range(3000):
        with open(f"{name}-{number % 5}", "w") as file:
            file.write("x" * 100)
def in_threads(name, count):
    threads = [threading.Thread(target=work, args=(f"{name}-{number}",)) for number in range(count)]
    for thread in threads: thread.start()
    return threads
standing = threading.Event()
def stand():
    work("standing")
    standing.wait()
    work("standing")
early = threading.Thread(target=stand)
early.start()
work("before")
print("begun", flush=True)
sys.stdin.readline()
standing.set()
threads = in_threads("behind", 3)
work("main")
for thread in [early, *threads]: thread.join()
child = os.fork()
if child == 0:
    open("of-child", "w").close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("done", flush=True)
"""
RANK = {"RANK": "1", "WORLD_SIZE": "2"}


def start(folder, injector=recording.INJECTOR):
    """A guest that has begun, and waits."""
    (folder / "guest.py").write_text(WORKS)
    environment = {**os.environ, **RANK, "DDPSCOPE_TRACE": str(folder / "trace"), "LD_PRELOAD": str(injector)}
    guest = subprocess.Popen([sys.executable, "guest.py"], cwd=folder, env=environment, text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert guest.stdout.readline() == "begun\n"
    [trace] = (folder / "trace").glob("*.ddps")
    return guest, trace


def finish(guest):
    said, errors = guest.communicate("\n", timeout=120)
    return guest.returncode, said, errors


@pytest.mark.parametrize("left", [0, 4096, 40_000])
def test_the_guest_goes_on(left, tmp_path):
    """Nothing of it is left, the header, some chunks."""
    guest, trace = start(tmp_path)
    os.truncate(trace, left)
    assert finish(guest) == (0, "done\n", "")
    assert len(list(tmp_path.glob("behind-*"))) == 15
    child = [other for other in (tmp_path / "trace").glob("*.ddps") if other != trace]
    assert len(child) == 1, "a child has a file of its own"
    dumped = subprocess.run([recording.BUILD / "bin/ddpscope", "dump", child[0]], capture_output=True, text=True, timeout=60)
    assert "of-child" in dumped.stdout, dumped.stderr


def test_it_goes_on_however_often(tmp_path):
    guest, trace = start(tmp_path)
    guest.stdin.write("\n")
    guest.stdin.flush()
    while guest.poll() is None:
        os.truncate(trace, 0)
    assert guest.returncode == 0 and guest.stdout.read() == "done\n", guest.stderr.read()


def test_without_the_handler_it_dies(tmp_path):
    process = "injector/core/process.cpp"
    guest, trace = start(tmp_path, recording.build_mutant([(process, "    survive_lost_pages();\n", "")], [process]))
    os.truncate(trace, 0)
    assert finish(guest)[0] == -signal.SIGBUS


@pytest.mark.parametrize("left, says", [(0, "the trace file is empty"), (100, "cut off inside its header")])
def test_the_loss_is_told(left, says, tmp_path):
    guest, trace = start(tmp_path)
    os.truncate(trace, left)
    assert finish(guest)[0] == 0
    report = subprocess.run([recording.BUILD / "bin/ddpscope", "report", tmp_path / "trace"], capture_output=True, text=True, timeout=60)
    assert report.returncode == 2 and says in report.stderr and trace.name in report.stderr, report.stderr


SIGNALS = {
    "of its own": ("import mmap\nfile = open('own', 'w+b')\nfile.truncate(4096)\nmapped = mmap.mmap(file.fileno(), 4096)\n"
                   "file.truncate(0)\nmapped[0]\n", -signal.SIGBUS),
    "sent": ("import os, signal\nos.kill(os.getpid(), signal.SIGBUS)\n", -signal.SIGBUS),
    "handled": ("import os, signal\nsignal.signal(signal.SIGBUS, lambda *_: print('handled'))\nopen('a', 'w').close()\n"
                "os.kill(os.getpid(), signal.SIGBUS)\nprint('goes on')\n", 0),
    "ignored": ("import os, signal\nsignal.signal(signal.SIGBUS, signal.SIG_IGN)\nos.kill(os.getpid(), signal.SIGBUS)\n", 0),
    "in a child": ("import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', "
                   "'import os, signal; os.kill(os.getpid(), signal.SIGBUS)']).returncode)\n", 0),
    "traced": ("import faulthandler, os, signal\nfaulthandler.enable()\nos.kill(os.getpid(), signal.SIGBUS)\n", -signal.SIGBUS),
}


@pytest.mark.parametrize("case", SIGNALS)
def test_the_signal_is_the_guests(case, tmp_path):
    text, code = SIGNALS[case]
    (tmp_path / "guest.py").write_text("open('first', 'w').close()\n" + text)
    plain = subprocess.run([sys.executable, "guest.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    guest, trace = recording.run([sys.executable, "guest.py"], tmp_path, environment=RANK)
    assert trace.calls("open", "open64", "openat"), "it was recorded"
    assert guest.returncode == plain.returncode == code
    without_addresses = functools.partial(re.sub, "0x[0-9a-f]+", "0x")
    assert guest.stdout == plain.stdout and without_addresses(guest.stderr) == without_addresses(plain.stderr)
