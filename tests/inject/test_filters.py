"""Where a filter of system calls (seccomp) answers with an error, the job runs and is recorded: containers and services have such."""
import sys

import ddpscope
import pytest

# What the injector asks for of its own, on x86-64: Linux, arch/x86/entry/syscalls/syscall_64.tbl.
RARE = {"fallocate": 285, "process_vm_readv": 310, "mincore": 27, "getrusage": 98, "prlimit64": 302, "fstatfs": 138, "uname": 63,
        "pwritev": 296, "sigaltstack": 131, "tgkill": 234}

REFUSE = """import ctypes, os, struct, sys
numbers = [int(word) for word in sys.argv[1].split(",")]
# The call's number; for each refused one: if it is that, SECCOMP_RET_ERRNO with EPERM; SECCOMP_RET_ALLOW.
steps = [(0x20, 0, 0, 0)]
for number in numbers:
    steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050001)]
steps.append((0x06, 0, 0, 0x7fff0000))
program = b"".join(struct.pack("HBBI", *step) for step in steps)
memory = ctypes.create_string_buffer(program)
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
rule = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(memory))
kept = ctypes.create_string_buffer(rule)
assert libc.prctl(22, 2, ctypes.addressof(kept), 0, 0) == 0, ctypes.get_errno()  # PR_SET_SECCOMP, a filter
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""

# Enough calls for further pieces of the trace's file; stacks; both ends of a connection between processes.
JOB = """import os, socket
server = socket.socket(socket.AF_UNIX)
server.bind("meeting")
server.listen()
child = os.fork()
if child == 0:
    client = socket.socket(socket.AF_UNIX)
    client.connect("meeting")
    client.sendall(b"x")
    os._exit(0)
peer, _ = server.accept()
assert peer.recv(1) == b"x" and os.waitpid(child, 0)[1] == 0
for number in range(3000):
    with open(f"file{number % 7}", "w") as file:
        file.write("x" * 100)
    os.rename(f"file{number % 7}", "kept")
print("done")
"""


@pytest.mark.parametrize("refused", [*RARE, "all"])
def test_refused_calls(tmp_path, refused):
    (tmp_path / "refuse.py").write_text(REFUSE)
    (tmp_path / "job.py").write_text(JOB)
    numbers = ",".join(str(number) for name, number in RARE.items() if refused in (name, "all"))
    done = ddpscope.start([ddpscope.DDPSCOPE, "run", "-o", tmp_path / "trace", "--", sys.executable, "refuse.py", numbers, "job.py"],
                          cwd=tmp_path)
    assert (done.code, done.stdout) == (0, "done\n"), done.stderr
    assert ", 0 dropped" in done.stderr and "not complete" not in done.stderr, done.stderr
    dump = ddpscope.start([ddpscope.DDPSCOPE, "dump", tmp_path / "trace"], cwd=tmp_path).stdout
    assert sum(" rename " in line for line in dump.splitlines()) == 3000, dump[-2000:]
    assert "job.py:" in dump
