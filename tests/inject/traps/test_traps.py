"""How calls are bound, one record for each, room in the file, copies of the process: see traps.toml."""
import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

import guards
import recording
from recording import INJECTOR, TRAPS

GUEST = TRAPS / "guest"
RUNTIME = recording.BUILD / "lib" / "standin" / "libcudart.so.13"
CONSUME = "import ctypes, sys; l = ctypes.CDLL(sys.argv[1]); sys.exit(l.consume(62))"


def killed(run):
    guest, trace = run([GUEST, "killed"])
    assert guest.returncode == 0
    last = trace.calls("ncclAllReduce")
    assert len(last) == 1 and last[0].inside and last[0]["count"] == "1000001"


def nested(run):
    guest, trace = run([GUEST, "nested"])
    assert guest.returncode == 0
    assert [r.call for r in trace.calls("ncclBcast", "ncclBroadcast")] == ["ncclBcast"]


def allocations(run):
    guest, trace = run([TRAPS / "cuda_guest", "long"], after=[RUNTIME], environment={"DDPSCOPE_RING": str(1 << 20)})
    assert guest.returncode == 0, guest.stderr
    assert trace.health["bulk_records_overwritten"] > 0 and 0 < len(trace.calls("cudaEventRecord")) < 50_000
    obtained, given_back = [call for call in trace.calls("cudaMalloc", "cudaFree") if int(call["address"], 0)]
    assert (obtained.call, obtained["device"], given_back.call) == ("cudaMalloc", "1", "cudaFree") and obtained.stack


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
    (run.folder / "trace").mkdir(exist_ok=True)  # making it fails
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
    assert guest.returncode == 0 and not trace.calls("ncclCommInitRank"), "the library's own calls are not the guest's"
    assert [(r["rank"], r["size"], r["device"]) for r in records] == [("0", "3", "4"), ("1", "3", "5"), ("2", "3", "6")]
    assert len({r["id"] for r in records}) == 1


def local(run, library="libtrap_consumer.so"):
    guest, trace = run([sys.executable, "-c", CONSUME, TRAPS / library])
    assert guest.returncode == 0 and trace.counts() == [62]


def deepbind(run):
    guest, trace = run([GUEST, "deepbind", TRAPS / "libtrap_consumer.so"])
    assert guest.returncode == 0 and not trace.counts()


def static(run):
    local(run, "libtrap_consumer_static.so")


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


def symbolic(run):
    local(run, "libtrap_consumer_symbolic.so")


def closed(run):
    guest, trace = run([sys.executable, "-c", CONSUME, TRAPS / "libtrap_consumer_closed.so"])
    assert guest.returncode == 0 and not trace.counts()


def search_path(run):
    guest, _ = run([sys.executable, "-c", "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).load_inner())",
                    TRAPS / "libtrap_plugin.so"])
    assert guest.returncode == 0


def early(run):
    guest, trace = run([GUEST, "nested"], after=[TRAPS / "libtrap_early.so"])
    assert guest.returncode == 0
    assert [r["path"].rsplit("/", 1)[1] for r in trace.calls("open")] == ["early"] and len(trace.calls("ncclBcast")) == 1


def strict_malloc(run):
    """Its first call may come before our start, or be made by it."""
    for order in ("before", "after"):
        for disable in ("0", "1"):
            guest, trace = run([GUEST, "nested"], trace=f"{order}-{disable}", environment={"DDPSCOPE_DISABLE": disable},
                               **{order: [TRAPS / "libtrap_strict_malloc.so"]})
            assert guest.returncode == 0, (order, disable, guest.stderr)
            assert len(trace.calls("ncclBcast")) == 1 - int(disable)


def modes(run):
    mask = os.umask(0)
    try:
        _, trace = run([GUEST, "nested"])
    finally:
        os.umask(mask)
    file, = trace.files
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


test_trap, test_guard = guards.tests_of(globals())


def test_links_libc_only():
    """And what was a part of it before glibc 2.34; no name that the C++ runtime would have to bring."""
    listing = subprocess.run(["nm", "-D", "--undefined-only", INJECTOR], capture_output=True, text=True, check=True)
    assert "GLIBCXX" not in listing.stdout and "CXXABI" not in listing.stdout and " _Z" not in listing.stdout
    needed = subprocess.run(["readelf", "-d", INJECTOR], capture_output=True, text=True, check=True).stdout
    assert [line.split("[")[1].rstrip("]") for line in needed.splitlines() if "NEEDED" in line] == [
        "libdl.so.2", "libc.so.6", "ld-linux-x86-64.so.2"]


def test_exports_hooks_only():
    """Every exported name is a call of the table, or listens or stands in for one."""
    listing = subprocess.run(["nm", "-D", "--defined-only", INJECTOR], capture_output=True, text=True, check=True)
    table = (recording.SOURCE / "trace" / "calls.def").read_text()
    rows = {line.split(",")[1].strip() for line in table.splitlines() if line.startswith("DDPSCOPE_CALL(")}
    others = {"dlsym", "syscall", "vfork", "__cudaRegisterFunction", "__cudaGetKernel", "cudaGetKernel",
              "InitializeInjectionNvtx2"}
    # What releases something, of which only the taking is a record, and what begins or ends an object's life.
    others |= {"pthread_cond_signal", "pthread_cond_broadcast", "cnd_signal", "cnd_broadcast", "pthread_mutex_unlock",
               "mtx_unlock", "pthread_rwlock_unlock", "pthread_cond_destroy", "pthread_mutex_destroy",
               "pthread_rwlock_destroy", "pthread_barrier_init", "pthread_barrier_destroy", "sem_init", "sem_destroy",
               "sem_close"}
    # What moves the position in a folder: the listing of it counts from there on, or not at all.
    others |= {"rewinddir", "seekdir", "getdents64"}
    # By which another client of CUPTI comes and goes: it is lent.
    calls = (recording.SOURCE / "injector" / "device_times" / "cupti_calls.def").read_text()
    others |= {line.split("(")[1].rstrip(")") for line in calls.splitlines() if line.startswith("DDPSCOPE_CUPTI_CALL(")}
    # By which NCCL, and NVTX for its payloads, find a tool.
    others |= {"InitializeInjectionNvtxExtension", *(f"ncclProfiler_v{version}" for version in range(1, 7))}
    # PyTorch's functions, by every name that a version gave them.
    functions = (recording.SOURCE / "injector" / "torch" / "functions.def").read_text()
    others |= {line.split("(")[1].split(",")[0].rstrip(")") for line in functions.splitlines() if line.startswith("DDPSCOPE_TORCH")}
    symbols = [line.split()[1:] for line in listing.stdout.splitlines()]
    exported = {name.split("@")[0] for kind, name in symbols if kind.isupper() and kind != "A"}  # A: a version's name
    assert exported - rows - others == set()
