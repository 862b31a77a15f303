"""Each trap: the guest is unharmed and the trace tells the truth; with its guard taken out, this test notices."""
import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

import recording
from recording import INJECTOR, TRAPS

GUEST = TRAPS / "guest"
PROCESS = "injector/core/process.cpp"
NCCL = ["injector/nccl/collectives.cpp", "injector/nccl/lifecycle.cpp"]


def killed(run):
    guest, trace = run([GUEST, "killed"])
    assert guest.returncode == 0
    last = trace.calls("ncclAllReduce")
    assert len(last) == 1 and last[0].inside and last[0]["count"] == "1000001"


def nested(run):
    guest, trace = run([GUEST, "nested"])
    assert guest.returncode == 0
    assert [r.call for r in trace.calls("ncclBcast", "ncclBroadcast")] == ["ncclBcast"]


def longjmp(run):
    guest, trace = run([GUEST, "longjmp"])
    assert guest.returncode == 0
    assert trace.counts() == [1000002, 11, 12] and trace.calls("ncclAllReduce")[0].inside


def signal(run):
    guest, trace = run([GUEST, "signal"])
    assert guest.returncode == 0
    assert trace.health.get("reentrant_calls", 0) > 0
    sequences = [int(r["sequence"]) for r in trace.calls("ncclAllReduce")]
    assert len(set(sequences)) == len(sequences) == max(sequences) + 1


def cancelled(run):
    guest, trace = run([GUEST, "cancelled"])
    assert guest.returncode == 0
    first, second = trace.calls("ncclAllReduce")
    assert first.inside and first.thread != second.thread and second["count"] == "21" and not second.inside


def threads(run):
    guest, trace = run([GUEST, "threads"], environment={"DDPSCOPE_RING": "65536"})
    assert guest.returncode == 0
    assert trace.health.get("bulk_records_lost", 0) == 0 and trace.health["bulk_records_overwritten"] > 0


def fork(run):
    guest, trace = run([GUEST, "fork"])
    assert guest.returncode == 0
    by_pid = {}
    for record in trace.calls("ncclAllReduce"):
        by_pid.setdefault(record.pid, []).append(record["count"])
    assert sorted(by_pid.values(), key=len) == [["32"], ["31"] * 100]
    assert len(trace.files) == 2


def clone(run):
    fork(lambda command: run([GUEST, "clone"]))


def idle(run):
    guest, trace = run([GUEST, "idle"])
    assert guest.returncode == 0 and not trace.files


def exec_(run):
    guest, trace = run([GUEST, "exec"])
    assert guest.returncode == 0
    assert len(trace.files) == 2 and len({r.pid for r in trace.records}) == 1
    assert len(trace.calls("ncclCommInitRank")) == 2


def descriptors(run):
    guest, trace = run([GUEST, "descriptors"])
    assert guest.returncode == 0, "it has descriptors that are not its own"
    assert trace.counts() == [41] + [42] * 1000


def size_limit(run):
    guest, trace = run([GUEST, "size-limit"])
    assert guest.returncode == 0
    assert trace.health["kept_records_lost"] > 10000 and trace.counts()[:3] == [0, 1, 2]


def no_folder(run):
    guest, trace = run([GUEST, "many"], trace="file/trace")
    assert guest.returncode == 0 and not trace.files


def full_disk(run):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    disk = run.folder / "disk"
    disk.mkdir(exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not permitted here")
    try:
        guest, trace = run([GUEST, "many"], trace="disk")
        assert guest.returncode == 0
        assert trace.health["kept_records_lost"] > 10000 and trace.counts()[:3] == [0, 1, 2]
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def chdir(run):
    guest, trace = run([GUEST, "chdir"], environment={"DDPSCOPE_TRACE": "trace"})
    assert guest.returncode == 0 and trace.counts() == list(range(1000))


def chroot(run):
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    guest, trace = run([GUEST, "chroot"])
    assert guest.returncode == 0
    assert trace.counts()[:2] == [0, 1] and trace.health["kept_records_lost"] > 0


def errno(run):
    guest, trace = run([GUEST, "errno"])
    assert guest.returncode == 0 and len(trace.counts()) == 5000


def identities(run):
    guest, trace = run([GUEST, "identities"])
    assert guest.returncode == 0
    inits, splits = trace.calls("ncclCommInitRank"), trace.calls("ncclCommSplit")
    assert len({r["id"] for r in inits}) == 1
    assert [r["communicator"] for r in trace.calls("ncclAllReduce")] == ["0", "9", "9"]
    assert [r["sequence"] for r in trace.calls("ncclAllReduce")] == ["0", "0", "1"]
    assert trace.health["unknown_communicators"] == 1
    ids = [r["id"] for r in splits]
    assert ids[0::2] == ids[1::2] and len(set(ids)) == 3


def init_all(run):
    guest, trace = run([GUEST, "init-all"])
    records = trace.calls("ncclCommInitAll")
    assert guest.returncode == 0
    assert [(r["rank"], r["size"], r["device"]) for r in records] == [("0", "3", "4"), ("1", "3", "5"), ("2", "3", "6")]
    assert len({r["id"] for r in records}) == 1


def local(run):
    guest, trace = run([sys.executable, "-c", "import ctypes, sys; l = ctypes.CDLL(sys.argv[1]); sys.exit(l.consume(62))",
                        TRAPS / "libtrap_consumer.so"])
    assert guest.returncode == 0 and trace.counts() == [62]


def deepbind(run):
    guest, trace = run([GUEST, "deepbind", TRAPS / "libtrap_consumer.so"])
    assert guest.returncode == 0 and not trace.counts()


def static(run):
    guest, trace = run([sys.executable, "-c", "import ctypes, sys; l = ctypes.CDLL(sys.argv[1]); sys.exit(l.consume(63))",
                        TRAPS / "libtrap_consumer_static.so"])
    assert guest.returncode == 0 and trace.counts() == [63]


CTYPES = """
import ctypes, sys
nccl, everything = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(None)
sys.exit(nccl.ncclAllReduce(None, None, ctypes.c_size_t(64), 7, 0, None, None) + hasattr(nccl, "ncclCommGrow")
         + hasattr(everything, "ncclCommGrow") + hasattr(everything, "cudaMalloc"))
"""


def ctypes_(run):
    guest, trace = run([sys.executable, "-c", CTYPES, TRAPS / "libnccl.so.2"])
    assert guest.returncode == 0, "a function seems to exist that the library has not"
    assert trace.counts() == [64]


def other_before(run):
    guest, trace = run([GUEST, "fork"], before=[TRAPS / "libtrap_other_preload.so"])
    assert guest.returncode == 0 and guest.stdout.count("other 31\n") == 100 and len(trace.counts()) == 101


def other_after(run):
    guest, trace = run([GUEST, "fork"], after=[TRAPS / "libtrap_other_preload.so"])
    assert guest.returncode == 0 and guest.stdout.count("other 31\n") == 100 and len(trace.counts()) == 101


def disabled(run):
    guest, trace = run([GUEST, "nested"], environment={"DDPSCOPE_DISABLE": "1"})
    assert guest.returncode == 0 and not trace.files


def scrubbed(run):
    guest, trace = run(["env", "-i", f"LD_LIBRARY_PATH={TRAPS}", GUEST, "nested"])
    assert guest.returncode == 0 and not trace.files


def secure(run):
    """A setuid program run by somebody else."""
    if os.geteuid() != 0:
        pytest.skip("making a setuid program of root needs root")
    program = run.folder / "secure_guest"
    shutil.copy(GUEST, program)
    program.chmod(0o755 | stat.S_ISUID)
    for folder in [run.folder, *run.folder.parents]:
        if folder.owner() == "root" and folder != pathlib.Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    run.folder.chmod(0o777)
    library = run.folder / "copy.so"
    shutil.copy(run.injector, library)
    shutil.copy(TRAPS / "libnccl.so.2", run.folder)
    guest, trace = run([program, "secure", library], preload=False, user=65534)
    if "error while loading shared libraries" in guest.stderr:
        pytest.skip("the loader finds the guest's library only by a path that setuid programs do not use")
    assert guest.returncode == 0, guest.stderr
    assert not trace.files


def frame_pointers(run):
    guest, trace = run([GUEST, "frame-pointers"])
    assert guest.returncode == 0
    records = trace.calls("ncclAllReduce")
    assert len(records) == 50001 and all("guest" in r.stack[0] for r in records)
    assert len({tuple(r.stack) for r in records}) < 20


WITHOUT_RECORD_FIRST = [("injector/nccl/recording.h",
                         "  OpenRecord open = begin_collective<call>(arguments);\n  VendorCall vendor;\n"
                         "  ncclResult_t result = function(args...);\n",
                         "  ncclResult_t result = function(args...);\n"
                         "  OpenRecord open = begin_collective<call>(arguments);\n")]
NO_COPY_TEST = [(PROCESS, "&& *process.same_process", ""), (PROCESS, "if (!*process.same_process) start_child();", ""),
                (PROCESS, "if (on) pthread_atfork(nullptr, nullptr, start_child);", "")]
REAL, DLSYM = "injector/core/real.cpp", "injector/core/dlsym.cpp"
WRITER = "trace/write/file_writer.cpp"

# Trap: what guards against it (file, text, text without the guard), and what has to be compiled anew. None: nothing of
# ours guards, the guest is only to be left alone.
TABLE = {
    killed: (WITHOUT_RECORD_FIRST, NCCL),
    cancelled: (WITHOUT_RECORD_FIRST, NCCL),
    nested: ([("injector/nccl/recording.h", "  if (inside_vendor_call()) return function(args...);  // ncclBcast", "  //")], NCCL),
    longjmp: ([("injector/core/thread_state.h", "return frame < static_cast<const void*>(this) && number_ == this_thread.vendor_calls;",
                "return frame != nullptr;")], NCCL),
    signal: ([("injector/core/process.h", "entered_(file && !this_thread.busy)", "entered_(file != nullptr)")], NCCL),
    threads: ([(PROCESS, "if (process.file.is_open()) this_thread.writer.leave(process.file);", "")], [PROCESS]),
    fork: (NO_COPY_TEST, [PROCESS]),
    clone: (NO_COPY_TEST[:2], [PROCESS]),
    idle: ([(PROCESS, "if (weight == Weight::kFollows && !process.follows_parent) return nullptr;", "")], [PROCESS]),
    exec_: None,
    descriptors: ([(WRITER, "  raw_syscall(SYS_close, fd);\n", "")], [WRITER]),
    size_limit: ([(WRITER, "if (!within_size_limit(offset + bytes)) return false;", "")], [WRITER]),
    no_folder: ([(PROCESS, "if (opened) write_settings(process.file);", "opened = true;\n  write_settings(process.file);")], [PROCESS]),
    full_disk: None,
    chdir: ([(PROCESS, "if (*directory != '/') {", "if (!*directory) {")], [PROCESS]),
    chroot: None,
    errno: None,
    identities: ([("injector/nccl/lifecycle.cpp", "  remove_communicator(communicator);\n", "")], ["injector/nccl/lifecycle.cpp"]),
    init_all: None,
    local: ([(REAL, "  for (const char* library : kVendorLibraries)\n    if (void* found = find_in(library, symbol)) return found;\n", ""),
             (REAL, "return dladdr(caller, &object) && object.dli_fname ? find_in(object.dli_fname, symbol) : nullptr;",
              "(void)object; (void)caller; return nullptr;")], [REAL]),
    deepbind: None,
    static: ([(REAL, "return dladdr(caller, &object) && object.dli_fname ? find_in(object.dli_fname, symbol) : nullptr;",
               "(void)object; (void)caller; return nullptr;")], [REAL]),
    ctypes_: ([(DLSYM, "return {1, may_record() ? hook_for(*info, found) : found};", "return {1, found};")], [DLSYM]),
    other_before: None,
    other_after: ([(REAL, "if (void* next = real_dlsym(RTLD_NEXT, symbol)) return next;", "")], [REAL]),
    disabled: ([(PROCESS, 'if (disable && *disable && strcmp(disable, "0") != 0) return false;', "(void)disable;")], [PROCESS]),
    scrubbed: None,
    secure: ([(PROCESS, 'secure_getenv("DDPSCOPE_TRACE")', 'getenv("DDPSCOPE_TRACE")')], [PROCESS]),
    frame_pointers: ([("injector/core/stack.cpp",
                       "if (next <= at || next + sizeof(Frame) > end || next % sizeof(void*) != 0) break;",
                       "if (next <= at || !end) break;")], ["injector/core/stack.cpp"]),
}


class Runner:
    """Starts guests of one trap with one injector."""

    def __init__(self, folder, injector):
        self.folder, self.injector = folder, injector
        (folder / "file").write_text("not a folder")

    def __call__(self, command, preload=True, **settings):
        if not preload:
            settings["environment"] = {**settings.get("environment", {}), "LD_PRELOAD": ""}
        return recording.run(command, self.folder, self.injector, **settings)


def name_of(trap):
    return trap.__name__.strip("_")


@pytest.mark.parametrize("trap", TABLE, ids=name_of)
def test_trap(trap, tmp_path):
    trap(Runner(tmp_path, INJECTOR))


@pytest.mark.parametrize("trap", [trap for trap in TABLE if TABLE[trap]], ids=name_of)
def test_guard(trap, tmp_path):
    """The trap catches an injector without its guard."""
    mutant = recording.build_mutant(*TABLE[trap])
    with pytest.raises((AssertionError, subprocess.SubprocessError, KeyError, ValueError)):
        trap(Runner(tmp_path, mutant))


def test_links_libc_only():
    """No name that the C++ runtime would have to bring."""
    listing = subprocess.run(["nm", "-D", "--undefined-only", INJECTOR], capture_output=True, text=True, check=True)
    assert "GLIBCXX" not in listing.stdout and "CXXABI" not in listing.stdout and " _Z" not in listing.stdout
    needed = subprocess.run(["readelf", "-d", INJECTOR], capture_output=True, text=True, check=True).stdout
    assert [line.split("[")[1].rstrip("]") for line in needed.splitlines() if "NEEDED" in line] == ["libc.so.6"]


def test_exports_hooks_only():
    """Every exported name is a call of the table, or listens or stands in for one."""
    listing = subprocess.run(["nm", "-D", "--defined-only", INJECTOR], capture_output=True, text=True, check=True)
    table = (recording.SOURCE / "trace" / "calls.def").read_text()
    rows = {line.split(",")[1].strip() for line in table.splitlines() if line.startswith("DDPSCOPE_CALL(")}
    others = {"dlsym", "syscall", "vfork", "pthread_create", "__cudaRegisterFunction", "__cudaGetKernel", "cudaGetKernel"}
    exported = {line.split()[2] for line in listing.stdout.splitlines() if line.split()[1].isupper()}
    assert exported - rows - others == set()
