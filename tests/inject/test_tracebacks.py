"""What Python prints of an exception becomes a record: its frames and its type, and nothing of its message."""
import subprocess
import sys

import ddpscope
import traces

GUEST = """
import os, sys, threading
open("made", "w").close()  # a process that only prints leaves no trace

def fail(text):
    raise KeyError(text)

def inner(depth):
    inner(depth - 1) if depth else fail("secret")

HOW = sys.argv[1]
if HOW == "uncaught":
    inner(40)
if HOW == "chained":
    try:
        fail("secret")
    except KeyError:
        raise OSError("also")
if HOW == "fragments":
    for letter in 'Traceback (most recent call last):\\n  File "a b.py", line 7, in f\\n    x\\nmy.Error: secret\\n':
        os.write(2, letter.encode())
if HOW == "prefixed":  # as torch.distributed.distributed_c10d does it
    def print_with_rank(*args):
        import io
        whole, sys.stderr = sys.stderr, io.StringIO()
        sys.__excepthook__(*args)
        text, sys.stderr = sys.stderr.getvalue(), whole
        sys.stderr.write("\\n".join(f"[rank3]: {row}" if row else "" for row in text.split("\\n")))
    sys.excepthook = print_with_rank
    inner(3)
if HOW == "coloured":  # as Python 3.13 does it on a terminal
    sys.stderr.write('Traceback (most recent call last):\\n  File \\033[35m"a.py"\\033[0m, line \\033[35m7\\033[0m, in \\033[35mf\\033[0m\\n'
                     '    \\033[31mx\\033[0m\\n\\033[1;35mmy.Error\\033[0m: \\033[35msecret\\033[0m\\n')
if HOW == "thread":
    thread = threading.Thread(target=fail, args=("secret",))
    thread.start()
    thread.join()
if HOW == "forked":
    os.write(2, b'Traceback (most recent call last):\\n  File "a.py", line 7, in f\\n')
    if os.fork() == 0:
        open("made by the child", "w").close()
        os.write(2, b"KeyError: secret\\n")
        os._exit(1)
    os.wait()
if HOW == "ignored":  # where nobody can catch it: the program goes on, and fails later
    import weakref
    class Finalizer:
        def __repr__(self):
            return "a finalizer"  # no address
        def __call__(self, of):
            fail("secret")
    kept = {1, 2}
    reference = weakref.ref(kept, Finalizer())
    del kept
    inner(1)
if HOW == "looks alike":
    os.write(2, b'  File "a.py", line 7, in f\\nError\\n' + b"x" * 5000 + b"\\n" + b'Traceback (most recent call last):\\nError: x\\n')
    os.write(2, b'log: it failed: Traceback (most recent call last):\\n  File "a.py", line 7, in f\\nKeyError: x\\n')
"""


def tracebacks(how, tmp_path):
    """Lines of the dump that tell of tracebacks; the guest itself is as without the preload."""
    guest = tmp_path / "guest.py"
    guest.write_text(GUEST)
    plain = traces.start([sys.executable, guest, how], tmp_path / "plain")
    loaded = traces.start([sys.executable, guest, how], tmp_path / "loaded", traces.INJECTOR, tmp_path / "trace")
    assert plain == loaded
    dump = subprocess.run([ddpscope.DDPSCOPE, "dump", tmp_path / "trace"], capture_output=True, text=True).stdout
    assert "secret" not in dump and "made" in dump
    return [line for line in dump.splitlines() if " python_traceback " in line]


def line(text):
    return next(number for number, row in enumerate(GUEST.splitlines(), 1) if text in row)


def test_uncaught(tmp_path):
    told, = tracebacks("uncaught", tmp_path)
    assert 'exception="KeyError"' in told
    assert f"guest.py:{line('raise KeyError')} fail < " in told.split(" @ ")[1]


def test_of_chained_exceptions_the_last_one_is_what_ended_it(tmp_path):
    told = tracebacks("chained", tmp_path)
    assert ['exception="KeyError"' in told[0], 'exception="OSError"' in told[-1]] == [True, True], told


def test_written_letter_by_letter(tmp_path):
    told, = tracebacks("fragments", tmp_path)
    assert 'exception="my.Error"' in told and "a b.py:7 f" in told


def test_each_line_with_a_prefix(tmp_path):
    told, = tracebacks("prefixed", tmp_path)
    assert 'exception="KeyError"' in told
    assert f"guest.py:{line('raise KeyError')} fail < " in told.split(" @ ")[1]


def test_in_colours(tmp_path):
    told, = tracebacks("coloured", tmp_path)
    assert 'exception="my.Error"' in told and "a.py:7 f" in told


def test_those_of_other_threads_end_no_process(tmp_path):
    assert tracebacks("thread", tmp_path) == []


def test_a_child_does_not_finish_what_its_parent_began(tmp_path):
    assert tracebacks("forked", tmp_path) == []


def test_what_python_ignores_is_none(tmp_path):
    told, = tracebacks("ignored", tmp_path)
    assert "__call__" not in told and "inner" in told


def test_what_only_looks_like_one(tmp_path):
    assert tracebacks("looks alike", tmp_path) == []
