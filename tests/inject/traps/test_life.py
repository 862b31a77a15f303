"""Copies, ends and signals of a process: its records are whole and its own, and it ends as it would alone."""
import signal
import subprocess

import guards
from recording import TRAPS

GUEST = TRAPS / "life_guest"


def functions(record):
    """Names of the recorded native frames, innermost first."""
    modules = [frame.rsplit("+", 1) for frame in record.stack]
    return [subprocess.run(["addr2line", "-f", "-C", "-e", module, offset], capture_output=True, text=True,
                           check=True).stdout.splitlines()[0] for module, offset in modules]


def transferred(trace, *names):
    return sum(int(r["bytes"]) for r in trace.calls(*names))


def vfork_often(run):
    guest, trace = run([GUEST, "vfork"])
    children = trace.calls("vfork")
    assert guest.returncode == 0 and len(trace.files) == 1
    assert len(children) == len({r["pid"] for r in children}) == 300 and {r["error"] for r in children} == {"ENOENT"}
    assert [r["pid"] for r in trace.calls("waitpid")] == [r["pid"] for r in children]
    assert not {"kept_records_lost", "stray_process"} & set(trace.health)


ENDS = {"exit": (7, "exit", 7), "_exit": (7, "_exit", 7), "_Exit": (7, "_Exit", 7), "quick_exit": (7, "quick_exit", 7),
        "abort": (-signal.SIGABRT, "abort", 128 + signal.SIGABRT), "return": (7, "exit", 7), "pthread_exit": (7, "exit", 7)}


def ends(run):
    for how, (code, call, status) in ENDS.items():
        guest, trace = run([GUEST, "end", how], trace=how)
        assert guest.returncode == code, how
        assert trace.counts() == [1, 2, 3, 4, 5] + [6] * (how == "pthread_exit"), how
        assert [(r.call, r["status"]) for r in trace.records[-1:]] == [(call, str(status))], how
        assert not any(r.inside for r in trace.records), how


def planted(run):
    victim = run.folder / "victim"
    victim.write_text("kept")
    (run.folder / "trace").mkdir()
    guest, trace = run([GUEST, "planted"])
    assert guest.returncode == 0 and victim.read_text() == "kept"


def alone(run):
    guest, trace = run([GUEST, "alone"])
    assert guest.returncode == 0 and trace.counts() == [1]


def watched(run):
    guest, trace = run([GUEST, "watched"])
    assert guest.returncode == 0
    assert [(r["count"], r.inside) for r in trace.calls("ncclAllReduce")] == [("1", True), ("2", False)]
    assert not any(r.inside for r in trace.calls("ncclCommGetAsyncError", "ncclCommDestroy"))


def unwound(run):
    guest, trace = run([GUEST, "unwound"])
    found = functions(trace.calls("fork")[0])
    assert guest.returncode == 0
    assert [name.split("::")[-1].split("(")[0] for name in found[:4]] == ["make_child", "prepare_child", "unwound", "main"]


def vendor(run):
    guest, trace = run([GUEST, "vendor"])
    assert guest.returncode == 0 and len(trace.calls("socketpair")) == 1
    assert transferred(trace, "socket_write") == transferred(trace, "socket_read") == 5


def vendor_threads(run):
    vendor(run)


def vendor_sockets(run):
    vendor(run)


def other_stack(run):
    guest, trace = run([GUEST, "other-stack"])
    found = trace.calls("ncclAllReduce")
    assert guest.returncode == 0 and int(guest.stdout) > 100
    assert sorted(int(r["sequence"]) for r in found) == list(range(len(found))) and not any(r.inside for r in found)
    assert {1, 2, 3, 1001} <= set(trace.counts()) and trace.health["reentrant_calls"] > 0
    assert all("reduce" in functions(r)[0] for r in found)


def socket_over_exec(run):
    guest, trace = run([GUEST, "socket-over-exec"])
    pair, = trace.calls("socketpair")
    assert guest.returncode == 0 and len(trace.files) == 2
    writes = sorted(trace.calls("socket_write"), key=lambda r: r.begin)
    assert [int(r["bytes"]) for r in writes] == [5, 6] and {r["inode"] for r in writes} == {pair["inode"]}
    assert transferred(trace, "socket_read") == 11


def opened_meanwhile(run):
    guest, trace = run([GUEST, "opened-meanwhile"])
    assert guest.returncode == 0
    assert len(trace.calls("ncclCommInitRank")) == len(trace.calls("socketpair")) == 1


def opening_left(run):
    guest, trace = run([GUEST, "opening-left"])
    assert guest.returncode == 0 and len(trace.files) == 1
    assert len(trace.calls("socketpair")) == 1 and trace.counts() == [1]


def opening_begun_anew(run):
    guest, trace = run([GUEST, "opening-begun-anew"])
    assert guest.returncode == 0 and len(trace.files) == 1
    assert len(trace.calls("ncclCommInitRank")) == len(trace.calls("socketpair")) == 1 and trace.counts() == [1]


def left_in_own_work(run):
    guest, trace = run([GUEST, "left-in-own-work"])
    assert guest.returncode == 0 and int(guest.stdout) > 100
    assert trace.counts().count(2) == int(guest.stdout), "each call after a jump is recorded"


def left_while_reading(run):
    guest, trace = run([GUEST, "left-while-reading"])
    assert guest.returncode == 0
    assert [(r.inside, r["bytes"]) for r in trace.calls("recv")] == [(True, "0"), (False, "3")]


def cancelled_while_reading(run):
    guest, trace = run([GUEST, "cancelled-while-reading"])
    first, second = trace.calls("recv")
    assert guest.returncode == 0
    assert (first.inside, first["bytes"]) == (True, "0") and (second.inside, second["bytes"]) == (False, "3")
    assert first.thread != second.thread


test_trap, test_guard = guards.tests_of(globals())
