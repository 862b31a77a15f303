"""`ddpscope run` as a user meets it: what the job gets and what comes back."""

import os
import pty
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import AS_ANYBODY, BUILD, DDPSCOPE, assert_cannot_run, compile_program, ddpscope, write_program_of_32_bits
from live_jobs import wait_for

WRITES = "echo x > y"  # a job of one recorded call


def test_it_returns_the_jobs_exit_code(tmp_path):
    assert ddpscope("run", "-o", tmp_path / "t", "--", "sh", "-c", "exit 7").returncode == 7
    assert ddpscope("run", "-o", tmp_path / "u", "--", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    "words, says",
    [
        (["run"], "CMD"),
        (["run", "--"], "CMD"),
        (["run", "-o", "", "--", "true"], "-o names no folder"),
        (["run", "-o", "/dev/null", "--", "true"], "Not a directory"),
        (["run", "-o", "/dev/null/x", "--", "true"], "cannot make the folder"),
        (["run", "-o", "x" * 300, "--", "true"], "File name too long"),
        (["run", "--ring", "12Q", "--", "true"], "'12Q' is not a size"),
        (["run", "--ring", "", "--", "true"], "'' is not a size"),
        (["run", "--ring", "-5", "--", "true"], "'-5' is not a size"),
        (["run", "--ring", "0", "--", "true"], "out of range"),
        (["run", "--ring", "1K", "--", "true"], "out of range"),
        (["run", "--ring", "99999999999G", "--", "true"], "out of range"),
        (["run", "--wait", "-1", "--", "true"], "--wait"),
        (["run", "--wait", "soon", "--", "true"], "--wait"),
        (["run", "--gpu-timing", "often", "--", "true"], "often"),
        (["run", "--", "no-such-command"], "no such command"),
        (["run", "--", "./no-such-command\x1b[31m"], "no such command"),
        (["run", "--", ""], "its name is empty"),
        (["run", "--", "./folder"], "it is a folder"),
        (["run", "--", "./not-executable"], "Permission denied"),
        (["run", "--", "./no-interpreter"], "interpreter that it names does not exist"),
    ],
)
def test_what_cannot_run_leaves_nothing_behind(words, says, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "not-executable").write_text("true\n")
    (tmp_path / "no-interpreter").write_text("#!/nonexistent/interpreter\n")
    (tmp_path / "no-interpreter").chmod(0o755)
    before = sorted(tmp_path.iterdir())
    assert_cannot_run(ddpscope(*words, cwd=tmp_path), says)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("gpu_timing", ["auto", "none", "events", "profiler", "cupti"])
def test_gpu_timing_is_accepted(gpu_timing, tmp_path):
    assert ddpscope("run", "-o", tmp_path / "t", "--gpu-timing", gpu_timing, "--", "true").returncode == 0


def test_without_write_permission(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    result = ddpscope("run", "-o", locked, "--", "true", before=AS_ANYBODY)
    assert_cannot_run(result, "cannot write to the folder: Permission denied")
    result = ddpscope("run", "-o", locked / "below", "--", "true", before=AS_ANYBODY)
    assert_cannot_run(result, "cannot make the folder: Permission denied")


def test_a_folder_without_room(tmp_path):
    result = ddpscope("run", "-o", tmp_path / "t", "--", "true", before=["prlimit", "--fsize=100"])
    assert_cannot_run(result, "no room for a trace")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scrub", [["env", "-u", "LD_PRELOAD"], ["env", "-i"]])
def test_it_says_when_the_environment_was_scrubbed(scrub, tmp_path):
    result = ddpscope("run", "-o", tmp_path / "t", "--", *scrub, "/bin/sh", "-c", WRITES + "; exit 3", cwd=tmp_path)
    assert result.returncode == 3
    assert "no process of the job recorded anything" in result.stderr


def test_it_says_when_the_job_is_a_static_binary(tmp_path):
    compile_program(tmp_path / "job", '#include <fcntl.h>\nint main() { return open("y", O_CREAT | O_WRONLY, 0600) < 0 ? 1 : 4; }\n',
                    "cc", "-static")
    result = ddpscope("run", "-o", tmp_path / "t", "--", "./job", cwd=tmp_path)
    assert result.returncode == 4
    assert "ddpscope: no process of the job recorded anything: ./job is linked statically; nor did one that it started\n" in result.stderr


def test_a_static_binary_may_start_what_is_recorded(tmp_path):
    compile_program(tmp_path / "job", '#include <unistd.h>\nint main() { return execl("/bin/sh", "sh", "-c", "echo x > y", (char*)0); }\n',
                    "cc", "-static")
    result = ddpscope("run", "-o", tmp_path / "t", "--", "./job", cwd=tmp_path)
    assert result.returncode == 0 and "1 process," in result.stderr and "statically" not in result.stderr


def test_it_says_when_the_job_is_of_32_bits(tmp_path):
    job = tmp_path / "job"
    write_program_of_32_bits(job, "b801000000bb05000000cd80")  # exit(5)
    result = ddpscope("run", "-o", tmp_path / "t", "--", "./job", cwd=tmp_path)
    if "Exec format error" in result.stderr:
        pytest.skip("this kernel runs no program of 32 bits")
    assert result.returncode == 5
    assert "recorded anything: ./job is a program of 32 bits; nor" in result.stderr


SAYS_HELLO = '#include <unistd.h>\nint main() { return write(1, "hello\\n", 6) == 6 ? 7 : 1; }\n'


@pytest.fixture
def of_musl(tmp_path):
    """A program that a preload for glibc would keep from starting."""
    compile_program(tmp_path / "hello", SAYS_HELLO, "musl-gcc")
    return tmp_path / "hello"


@pytest.mark.parametrize("first_line", [None, "#!{program}", "#!/usr/bin/env {name}", "#!/usr/bin/env -S A=b {name}"])
def test_a_program_of_musl_runs_unrecorded(of_musl, tmp_path, first_line, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    job = of_musl
    if first_line:
        job = tmp_path / "script"
        job.write_text(first_line.format(program=of_musl, name=of_musl.name) + "\n")
        job.chmod(0o755)
    result = ddpscope("run", "-o", "t", "--", job.name, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (7, "hello\n"), result.stderr
    assert re.fullmatch(r"ddpscope: the job runs unrecorded: \S+/hello has musl as its C library, and what records is for glibc\n",
                        result.stderr), result.stderr
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("command", ["./hello", "./static"])
def test_must_record(of_musl, tmp_path, command):
    compile_program(tmp_path / "static", SAYS_HELLO, "cc", "-static")
    result = ddpscope("run", "--must-record", "-o", tmp_path / "t", "--", command, cwd=tmp_path)
    assert_cannot_run(result, "the command cannot be recorded: ./")
    assert result.stdout == "" and not (tmp_path / "t").exists()
    assert ddpscope("run", "--must-record", "-o", tmp_path / "t", "--", "sh", "-c", "echo > y", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("tags, options, recorded", [("disable", [], True), ("disable", ["--cpu"], False), ("enable", [], False)])
def test_a_program_with_another_dynamic_linker(tmp_path, tags, options, recorded):
    """Debian 11's is older than the stand-ins, and not older than what records. With a path of the program alone
    (--enable-new-dtags) it takes part of this system's libraries for those that are preloaded."""
    libraries = BUILD / "interpreters/debian-11/lib/x86_64-linux-gnu"
    if not libraries.exists():
        pytest.skip("Debian 11's libc is not here: tests/interpreters.sh")
    compile_program(tmp_path / "job", '#include <fcntl.h>\n#include <unistd.h>\n__attribute__((force_align_arg_pointer))\n'
                    'void _start(void) { open("y", O_CREAT | O_WRONLY, 0600); _exit(7); }\n',
                    "cc", "-nostartfiles", f"-Wl,--dynamic-linker={libraries}/ld-linux-x86-64.so.2", f"-Wl,-rpath,{libraries}",
                    f"-Wl,--{tags}-new-dtags")
    result = ddpscope("run", *options, "-o", "t", "--", "./job", cwd=tmp_path)
    assert result.returncode == 7, result.stderr
    unrecorded = r"ddpscope: the job runs unrecorded: \./job's dynamic linker cannot load what records: .*GLIBC_\S+ not found .*\n"
    assert "1 process," in result.stderr if recorded else re.fullmatch(unrecorded, result.stderr), result.stderr


def test_a_script_without_a_shebang_is_the_shells(tmp_path):
    script = tmp_path / "job"
    script.write_text(WRITES + "\nexit 6\n")
    script.chmod(0o755)
    result = ddpscope("run", "-o", "t", "--", "./job", cwd=tmp_path)
    assert result.returncode == 6
    assert "1 process," in result.stderr


def test_makes_a_private_folder_and_leaves_stdout_alone(tmp_path):
    result = ddpscope("run", "-o", tmp_path / "t", "--", "echo", "hello")
    assert result.stdout == "hello\n"
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == 0o700


def test_chooses_a_folder(tmp_path):
    assert ddpscope("run", "--", "true", cwd=tmp_path).returncode == 0
    assert [entry.name.rsplit(".", 1)[0] for entry in tmp_path.iterdir()] == ["ddpscope.true"]


def test_under_a_launcher_is_one_folder(tmp_path):
    environment = dict(os.environ, SLURM_JOB_ID="77", SLURM_STEP_ID="2")
    for _ in range(2):
        assert ddpscope("run", "--", "true", cwd=tmp_path, env=environment).returncode == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["ddpscope.77.2.0"]


def test_appends_to_what_is_preloaded(tmp_path):
    environment = dict(os.environ, LD_PRELOAD="libm.so.6")
    script = "echo $LD_PRELOAD $DDPSCOPE_TRACE $DDPSCOPE_RING"
    result = ddpscope("run", "-o", "t", "--ring", "8M", "--", "sh", "-c", script, env=environment, cwd=tmp_path)
    preload, folder, ring = result.stdout.split()
    assert preload == f"libm.so.6:{BUILD}/lib/libddpscope.so"
    assert folder == str(tmp_path / "t")
    assert ring == str(8 << 20)


@pytest.mark.parametrize("other", ["", "/opt/tool/libinjection.so"])
def test_ranges_go_to_the_tool_that_is_named_already(tmp_path, other):
    environment = dict(os.environ, NVTX_INJECTION64_PATH=other)
    result = ddpscope("run", "-o", "t", "--", "sh", "-c", "echo $NVTX_INJECTION64_PATH", env=environment, cwd=tmp_path)
    assert result.stdout.strip() == (other or f"{BUILD}/lib/libddpscope.so")


@pytest.mark.parametrize("timing, other", [("profiler", ""), ("profiler", "inspector"), ("auto", "inspector"), ("auto", "")])
def test_nccl_has_our_plugin_only_if_that_is_asked_for(tmp_path, timing, other):
    environment = dict(os.environ, NCCL_PROFILER_PLUGIN=other)
    result = ddpscope("run", "-o", "t", "--gpu-timing", timing, "--", "sh", "-c",
                      "echo $NCCL_PROFILER_PLUGIN,$DDPSCOPE_NCCL_PROFILER_PLUGIN", env=environment, cwd=tmp_path)  # fmt: skip
    ours = f"{BUILD}/lib/libddpscope.so"
    assert result.stdout.strip() == (f"{ours},{other}" if timing == "profiler" else f"{other},")


def test_cpu_puts_the_stand_ins_in_front_and_says_that_nobody_used_them(tmp_path):
    script = "echo $LD_PRELOAD; echo x > y"
    result = ddpscope("run", "--cpu", "-o", tmp_path / "t", "--", sys.executable, "-c",
                      "import os; print(os.environ['LD_PRELOAD']); open('y', 'w').write('x')", cwd=tmp_path)  # fmt: skip
    assert result.returncode == 0, script
    names = [Path(library).name for library in result.stdout.strip().split(":")]
    assert names == ["libddpscope.so", "libcudart.so.13", "libcudart.so.12", "libnccl.so.2", "libcuda.so.1", "libcupti.so.13",
                     "libcupti.so.12"]
    assert "no call of CUDA or NCCL was recorded: the job may not need --cpu" in result.stderr


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_passes_signals_on(tmp_path, sent):
    script = f"trap 'echo got; exit 3' {sent.name[3:]}; echo ready; while :; do sleep 0.1; done"
    with subprocess.Popen(
        [DDPSCOPE, "run", "-o", str(tmp_path / "t"), "--", "bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout.readline() == "ready\n"
        run.send_signal(sent)
        output, _ = run.communicate(timeout=60)
    assert output == "got\n"
    assert run.returncode == 3


def test_records_which_signals_came(tmp_path):
    script = "import time; open('note', 'w').write('x'); print('ready', flush=True); time.sleep(60)"
    with subprocess.Popen(
        [DDPSCOPE, "run", "-o", str(tmp_path / "t"), "--", sys.executable, "-c", script], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout.readline() == "ready\n"
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)
    job_told = 112
    assert endings(tmp_path / "t", run, job_told) == [(os.getpid(), signal.SIGTERM)]


def endings(trace, run, call):
    """[(pid, status)] of what `run` saw and no command shows. A record: begin, end, call, thread, stack, and the payload Ending."""
    records = [struct.unpack_from("<QQHHIQii", file.read_bytes(), at) for file in trace.glob(f"*.{run.pid}.*.ddps")
               for at in range(0, file.stat().st_size - 63, 64)]
    return [record[-2:] for record in records if record[2] == call]


def is_watched(pid, run):
    """`run` holds the process: one that has ended before it could be met is noted without a status."""
    held = (Path(f"/proc/{run.pid}/fdinfo") / fd for fd in os.listdir(f"/proc/{run.pid}/fdinfo"))
    return any(f"\nPid:\t{pid}\n" in fd.read_text() for fd in held if fd.exists())


def test_a_process_that_ends_is_on_record_at_once(tmp_path):
    """For those who look meanwhile, and for later if `run` itself is killed."""
    lasts = "import os, time; open('note', 'w').write('x'); print(os.getpid(), flush=True); time.sleep(60)"
    with subprocess.Popen([DDPSCOPE, "run", "-o", "t", "--", "sh", "-c", f'{sys.executable} -c "{lasts}"; exec sleep 60'],
                          cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True) as run:
        pid = int(run.stdout.readline())
        wait_for(lambda: is_watched(pid, run), run, between=0.02)
        os.kill(pid, signal.SIGKILL)
        process_ended = 111
        wait_for(lambda: endings(tmp_path / "t", run, process_ended), run, between=0.02)
        os.killpg(run.pid, signal.SIGKILL)
    assert endings(tmp_path / "t", run, process_ended) == [(pid, 128 + signal.SIGKILL)]


def test_keeps_the_process_group(tmp_path):
    script = "import os; print(os.getpgrp() == int(open(f'/proc/{os.getppid()}/stat').read().rsplit(')', 1)[1].split()[2]))"
    assert ddpscope("run", "-o", tmp_path / "t", "--", sys.executable, "-c", script).stdout == "True\n"


def test_does_not_wait_for_what_the_job_leaves_behind(tmp_path):
    started = time.monotonic()
    result = ddpscope("run", "-o", tmp_path / "t", "--", "sh", "-c", "sleep 50 >/dev/null 2>&1 & echo $!")
    try:
        assert result.returncode == 0
        assert time.monotonic() - started < 40
    finally:
        os.kill(int(result.stdout), signal.SIGKILL)


def test_says_what_goes_on_without_its_launcher(tmp_path):
    writes = "import sys, time; open('begun', 'w').close(); time.sleep(50)"
    wait = "while [ ! -e begun ]; do sleep 0.1; done"
    result = ddpscope("run", "-o", "t", "--", "sh", "-c", f'{sys.executable} -c "{writes}" >/dev/null 2>&1 & echo $!; {wait}',
                      cwd=tmp_path)  # fmt: skip
    left = int(result.stdout)
    try:
        assert result.returncode == 0
        assert "ddpscope: 1 of its processes still runs, and nobody waits for it" in result.stderr
        assert f":{left} " in (told := ddpscope("info", "t", cwd=tmp_path).stdout), told
        assert "no end seen: it still runs, or was killed" in told
    finally:
        os.kill(left, signal.SIGKILL)


# A process that goes on when the shell that started it has ended, and how long.
LEAVES = """
import os, sys, time
open('begun', 'w').close()
starter = os.getppid()
while os.getppid() == starter:
    time.sleep(0.05)
time.sleep(float(sys.argv[1]))
open('late', 'w').close()
sys.exit(3)
"""


def leaving(seconds, then):
    """A job whose shell does `then` while the process that it started lasts for so long."""
    return ["sh", "-c", f"'{sys.executable}' leaves.py {seconds} >left.out 2>&1 & while [ ! -e begun ]; do sleep 0.1; done; {then}"]


@pytest.mark.parametrize("then", ["exit 7", "kill -9 $$"])
def test_waits_for_what_outlives_the_command(tmp_path, then):
    (tmp_path / "leaves.py").write_text(LEAVES)
    result = ddpscope("run", "-o", "t", "--", *leaving(2, then), cwd=tmp_path)
    assert result.returncode == (7 if then == "exit 7" else 128 + signal.SIGKILL), "the command's, whoever ends later"
    assert (tmp_path / "late").exists()
    assert re.search(r"ddpscope: the command has ended, and 1 process of the job still runs: python\S* \(\d+\)\. Waits for it "
                     r"up to 10 s \(--wait\); Ctrl-C ends the wait\n", result.stderr), result.stderr
    assert "nobody waits" not in result.stderr
    told = ddpscope("info", "t", cwd=tmp_path).stdout
    assert "no end seen" not in told and "exit code 3" in told, told


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait(tmp_path, sent):
    """It is for `run` then: what runs on does so, and the trace is summed up."""
    (tmp_path / "leaves.py").write_text(LEAVES)
    job = leaving(100, "echo $!; exit 7")
    with subprocess.Popen([DDPSCOPE, "run", "--wait", "900", "-o", "t", "--", *job], cwd=tmp_path, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:  # fmt: skip
        left = int(run.stdout.readline())
        try:
            assert f"({left}). Waits for it up to 900 s" in run.stderr.readline()
            run.send_signal(sent)
            said = run.stderr.read()
            assert run.wait(timeout=60) == 7
            assert "1 of its processes still runs, and nobody waits for it: python" in said and f"({left})" in said, said
            assert "ddpscope: trace in " in said, said
            assert state_of(left) in "SR"
        finally:
            os.kill(left, signal.SIGKILL)


def test_a_signal_that_is_sent_twice_does_not_end_the_wait(tmp_path):
    """As `timeout` does, to `run` and to its group; the job is over at the first one."""
    (tmp_path / "leaves.py").write_text(LEAVES)
    keeps = f"'{sys.executable}' -c 'import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); import leaves' 3"
    job = f"{keeps} & while [ ! -e begun ]; do sleep 0.1; done; echo ready; read line"
    with subprocess.Popen(["timeout", "900", DDPSCOPE, "run", "-o", "t", "--", "sh", "-c", job], cwd=tmp_path, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as limit:  # fmt: skip
        assert limit.stdout.readline() == "ready\n"
        limit.send_signal(signal.SIGTERM)
        said = limit.stderr.read()
        limit.wait(timeout=60)
    assert (tmp_path / "late").exists() and "nobody waits" not in said, said


def test_does_not_wait_for_what_another_run_records(tmp_path):
    job = "import os, sys, time; open(sys.argv[1], 'w').close()\nwhile not os.path.exists(sys.argv[2]): time.sleep(0.05)"
    runs = [subprocess.Popen([DDPSCOPE, "run", "--wait", "900", "-o", "t", "--", sys.executable, "-c", job, f"here{i}", f"go{i}"],
                             cwd=tmp_path) for i in range(2)]  # fmt: skip
    try:
        for run, name in zip(runs, ("here0", "here1")):
            wait_for((tmp_path / name).exists, run)
        for i in range(2):
            (tmp_path / f"go{i}").touch()
            assert runs[i].wait(timeout=60) == 0
    finally:
        for i in range(2):
            (tmp_path / f"go{i}").touch()
            runs[i].wait()


def test_signals_to_it_alone_stop_and_wake_the_job(tmp_path):
    # In a group of its own, below ours: the kernel stops nobody in a group without a parent outside of it.
    script = "echo $$; while [ ! -e go ]; do sleep 0.1; done; exit 9"
    with subprocess.Popen([DDPSCOPE, "run", "-o", "t", "--", "sh", "-c", script], cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, process_group=0) as run:  # fmt: skip
        job = int(run.stdout.readline())
        run.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(run.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), "it stops when the job has stopped"
        assert state_of(job) == "T"
        run.send_signal(signal.SIGCONT)
        (tmp_path / "go").touch()
        assert run.wait(timeout=60) == 9


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_the_interrupt_of_a_terminal_reaches_the_job_once(tmp_path):
    job = """
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: print("got", flush=True))
print("ready", flush=True)
time.sleep(1)
sys.exit(5)
"""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(DDPSCOPE, [DDPSCOPE, "run", "-o", str(tmp_path / "t"), "--", sys.executable, "-c", job])
    text = b""
    while b"ready" not in text:
        text += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    while True:
        try:
            text += os.read(terminal, 4096)
        except OSError:
            break
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 5
    assert text.count(b"got") == 1


def test_an_ignored_sigchld_does_not_cost_the_exit_code(tmp_path):
    ignoring = ["env", "--ignore-signal=CHLD"]
    job = "import signal, sys; sys.exit(3 if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN else 4)"
    assert ddpscope("run", "-o", tmp_path / "t", "--", sys.executable, "-c", job, before=ignoring).returncode == 3


def test_a_standard_error_that_is_gone_does_not_cost_the_exit_code(tmp_path):
    command = [DDPSCOPE, "run", "-o", str(tmp_path / "t"), "--", "sh", "-c", WRITES + "; exit 5"]
    with open("/dev/full", "w") as full:
        assert subprocess.run(command, cwd=tmp_path, stderr=full, timeout=60).returncode == 5
    assert subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], cwd=tmp_path, timeout=60).returncode == 5
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer) as broken:
        assert subprocess.run(command, cwd=tmp_path, stderr=broken, timeout=60).returncode == 5


def test_standard_input_is_the_jobs(tmp_path):
    result = ddpscope("run", "-o", tmp_path / "t", "--", "cat", input="some text\n")
    assert result.stdout == "some text\n"


def test_a_closed_descriptor_stays_closed_for_the_job(tmp_path):
    job = "import os, sys; os.fstat(0)"
    closed = ["sh", "-c", 'exec "$@" <&-', "sh"]
    result = ddpscope("run", "-o", tmp_path / "t", "--", sys.executable, "-c", job, before=closed)
    assert result.returncode == 1 and "Bad file descriptor" in result.stderr


def test_a_relative_folder_of_a_job_that_changes_its_own(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    result = ddpscope("run", "-o", "t", "--", "sh", "-c", "cd elsewhere; " + WRITES, cwd=tmp_path)
    assert "1 process," in result.stderr
    assert "1 process on" in ddpscope("info", tmp_path / "t").stdout


def test_a_folder_of_any_name(tmp_path):
    name = "it's a \"name\"\nwith \x1b[31m; $(exit 1)"
    result = ddpscope("run", "-o", name, "--", "sh", "-c", WRITES, cwd=tmp_path)
    assert result.returncode == 0 and "\x1b" not in result.stderr
    advice = result.stderr.split("`")[1]
    again = subprocess.run(["bash", "-c", advice.replace("ddpscope", DDPSCOPE, 1)], capture_output=True, text=True, timeout=60)
    assert "1 process," in again.stdout, (advice, again.stderr)


def test_jobs_of_one_second_get_folders_of_their_own(tmp_path):
    runs = [subprocess.Popen([DDPSCOPE, "run", "--", "sh", "-c", WRITES], cwd=tmp_path, stderr=subprocess.DEVNULL)
            for _ in range(4)]  # fmt: skip
    assert [run.wait(timeout=60) for run in runs] == [0] * 4
    folders = [entry for entry in tmp_path.iterdir() if entry.is_dir()]
    assert len(folders) == 4 and all("1 process on" in ddpscope("info", folder).stdout for folder in folders)


def test_a_second_job_in_the_folder_of_a_first(tmp_path):
    for code in (7, 8):
        result = ddpscope("run", "-o", "t", "--", "sh", "-c", WRITES + f"; exit {code}", cwd=tmp_path)
        assert result.returncode == code
    assert "holds traces of another command" in result.stderr and "next attempt" not in result.stderr
    assert "2 jobs that share nothing" in result.stderr
    assert_cannot_run(ddpscope("report", tmp_path / "t"), "2 jobs that share nothing")


def test_a_lock_that_leads_elsewhere_is_left_alone(tmp_path):
    """A folder that others may write: what stands under the name of our lock is a link to a file of the user's."""
    (tmp_path / "t").mkdir()
    (tmp_path / "diary").write_text("dear diary")
    (tmp_path / "t" / ".lock").symlink_to(tmp_path / "diary")
    assert ddpscope("run", "-o", "t", "--", "sh", "-c", WRITES, cwd=tmp_path).returncode == 0
    assert (tmp_path / "diary").read_text() == "dear diary"
    assert "1 process on" in ddpscope("info", tmp_path / "t").stdout


@pytest.mark.parametrize("command", ["report", "info", "dump", "status"])
def test_a_lock_that_is_a_pipe_keeps_nobody_waiting(tmp_path, command):
    ddpscope("run", "-o", "t", "--", "sh", "-c", WRITES, cwd=tmp_path)
    (tmp_path / "t" / ".lock").unlink(missing_ok=True)
    os.mkfifo(tmp_path / "t" / ".lock")
    assert ddpscope(command, tmp_path / "t").returncode in (0, 1)


def test_the_same_job_again_in_its_folder(tmp_path):
    """Its port may be another one; nothing else of its command may, and it must be started from the same folder."""
    (tmp_path / "elsewhere").mkdir()
    job = ["sh", "-c", WRITES, "--master_port"]
    for port in (29500, 29501, 29502):
        result = ddpscope("run", "-o", tmp_path / "t", "--", *job, port, cwd=tmp_path)
        assert "1 process," in result.stderr, result.stderr
        assert "another command" not in result.stderr
        assert ("holds traces of this command: this is its next attempt" in result.stderr) == (port != 29500)
    assert "this is attempt 2, the last; the folder holds 2 more" in result.stderr, result.stderr
    info = ddpscope("info", tmp_path / "t").stdout
    assert "(2 other attempts in the folder)" in info and "1 process on" in info, info
    first = ddpscope("info", tmp_path / "t", "--attempt", 0).stdout
    assert "attempt 0 (2 other attempts in the folder)" in first and "--master_port 29500" in first, first
    for command in ("info", "dump", "report"):
        assert_cannot_run(ddpscope(command, tmp_path / "t", "--attempt", 3), "there is no attempt 3")
    result = ddpscope("run", "-o", tmp_path / "t", "--", *job, 29500, cwd=tmp_path / "elsewhere")
    assert "holds traces of another command" in result.stderr
    assert "2 jobs that share nothing" not in result.stderr and "4 jobs that share nothing" in result.stderr


def test_the_same_job_twice_at_once_in_one_folder(tmp_path):
    job = [DDPSCOPE, "run", "-o", "t", "--", "sh", "-c", WRITES + "$$; read line"]
    jobs = [subprocess.Popen(job, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(2)]
    deadline = time.monotonic() + 60
    while len(list((tmp_path / "t").glob("*.ddps"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in jobs:
        process.communicate(b"\n", timeout=60)
    assert_cannot_run(ddpscope("report", tmp_path / "t"), "2 jobs that share nothing")


def test_a_job_that_records_nothing_in_the_folder_of_another(tmp_path):
    for words in (["sh", "-c", WRITES], ["env", "-u", "LD_PRELOAD", "sh", "-c", WRITES]):
        files = sorted((tmp_path / "t").glob("*"))
        result = ddpscope("run", "-o", "t", "--", *words, cwd=tmp_path)
    assert "no process of the job recorded anything" in result.stderr
    assert "are those of an earlier job" in result.stderr and "1 process" not in result.stderr
    assert sorted((tmp_path / "t").glob("*")) == files


def test_it_says_what_was_not_judged(tmp_path):
    ranks = "for r in 0 1; do RANK=$r WORLD_SIZE=2 sh -c '%s$RANK' & done; wait" % WRITES
    said = ddpscope("run", "-o", tmp_path / "two", "--", "sh", "-c", ranks, cwd=tmp_path).stderr
    assert re.search(r"; nothing found, [1-9]\d* findings not judged(, [1-9]\d* judged in part only)?\n", said), said
    one = ["env", "RANK=0", "WORLD_SIZE=2", "sh", "-c", WRITES]
    assert "; nothing could be judged\n" in ddpscope("run", "-o", tmp_path / "one", "--", *one, cwd=tmp_path).stderr


def test_the_last_of_several_runs_sums_up(tmp_path):
    environment = dict(os.environ, MASTER_ADDR="host", MASTER_PORT="1234", WORLD_SIZE="2")
    job = WRITES + "$RANK; while [ ! -e go$RANK ]; do sleep 0.1; done"
    runs = [subprocess.Popen([DDPSCOPE, "run", "-o", "t", "--", "sh", "-c", job], cwd=tmp_path, text=True,
                             stderr=subprocess.PIPE, env=dict(environment, RANK=str(rank)))
            for rank in range(2)]  # fmt: skip
    while not all((tmp_path / f"y{rank}").exists() for rank in range(2)):
        time.sleep(0.05)
    said = []
    for rank in (1, 0):
        (tmp_path / f"go{rank}").touch()
        said.append(runs[rank].communicate(timeout=60)[1])
    assert "other runs still record" in said[0] and "2 ranks" not in said[0]
    assert "2 ranks, 2 processes" in said[1]
    assert not (tmp_path / "t" / ".lock").exists()


def test_a_job_that_is_started_again_is_a_further_attempt(tmp_path):
    environment = dict(os.environ, MASTER_ADDR="host", MASTER_PORT="1234", WORLD_SIZE="2")
    job = f"for r in 0 1; do RANK=$r sh -c '{WRITES}$RANK' & done; wait"
    for _ in range(3):
        result = ddpscope("run", "-o", "t", "--", "sh", "-c", job, cwd=tmp_path, env=environment)
    assert "2 ranks, 2 processes" in result.stderr
    info = ddpscope("info", tmp_path / "t").stdout
    assert "attempt 2 (2 other attempts in the folder)" in info


def test_a_build_in_a_folder_with_a_blank_cannot_be_preloaded(tmp_path):
    moved = tmp_path / "my builds"
    (moved / "bin").mkdir(parents=True)
    shutil.copy(DDPSCOPE, moved / "bin")
    (moved / "lib").symlink_to(BUILD / "lib")
    result = subprocess.run([moved / "bin" / "ddpscope", "run", "--", "true"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert_cannot_run(result, "LD_PRELOAD cannot name a library whose path holds a blank or a colon")


def test_a_library_that_is_missing(tmp_path):
    (tmp_path / "bin").mkdir()
    shutil.copy(DDPSCOPE, tmp_path / "bin")
    result = subprocess.run([tmp_path / "bin" / "ddpscope", "run", "--", "true"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert_cannot_run(result, "lib/libddpscope.so: a library of ddpscope is missing")


def test_it_says_how_the_job_ended(tmp_path):
    result = ddpscope("run", "-o", tmp_path / "a", "--", "sh", "-c", WRITES + "; exit 3", cwd=tmp_path)
    assert result.returncode == 3 and "the job ended with exit code 3" in result.stderr
    result = ddpscope("run", "-o", tmp_path / "c", "--", "sh", "-c", WRITES + "; exit 255", cwd=tmp_path)
    assert result.returncode == 255 and "the job ended with exit code 255\n" in result.stderr
    result = ddpscope("run", "-o", tmp_path / "b", "--", "sh", "-c", WRITES + "; kill -9 $$", cwd=tmp_path)
    assert result.returncode == 137 and "the job ended with exit code 137: signal 9 (SIGKILL)" in result.stderr


def test_it_says_when_a_stand_in_cannot_be_used(tmp_path):
    """A program that brings its own CUDA runtime, as nvcc links it unless told otherwise."""
    source = tmp_path / "job.c"
    source.write_text("int ncclGetUniqueId(char*); int main(void) { char id[128]; return ncclGetUniqueId(id); }")
    nccl = BUILD / "lib" / "standin" / "libnccl.so.2"
    subprocess.run(["cc", source, nccl, "-o", tmp_path / "job"], check=True, timeout=60)
    result = ddpscope("run", "--cpu", "-o", tmp_path / "t", "--", tmp_path / "job")
    assert result.returncode == 0 and "-cudart shared" in result.stderr


def test_a_folder_that_is_removed_while_the_job_runs(tmp_path):
    result = ddpscope("run", "-o", "t", "--", "sh", "-c", WRITES + "; mv t elsewhere; exit 4", cwd=tmp_path)
    assert result.returncode == 4
    gone = "the folder is gone, and the trace with it: the job or somebody else removed or moved it"
    assert f"ddpscope: {tmp_path}/t: {gone}\n" in result.stderr and "scrubbed" not in result.stderr
    assert ddpscope("info", tmp_path / "elsewhere").returncode == 0, "what was recorded before is whole"


def test_a_run_inside_another_says_where_the_job_is_recorded(tmp_path):
    inner = [DDPSCOPE, "run", "-o", "inner", "--", "sh", "-c", WRITES + "; exit 7"]
    result = ddpscope("run", "-o", "outer", "--", *inner, cwd=tmp_path)
    assert result.returncode == 7
    assert f"the job is recorded into {tmp_path}/inner, and not into {tmp_path}/outer" in result.stderr
    assert "1 process on" in ddpscope("info", tmp_path / "inner").stdout
    # Each task of a job may have one of its own, all into one folder.
    result = ddpscope("run", "-o", "both", "--", DDPSCOPE, "run", "-o", "both", "--", "true", cwd=tmp_path)
    assert "and not into" not in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide /proc, and be somebody else")
def test_what_a_machine_may_lack(tmp_path):
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    assert_cannot_run(ddpscope("run", "-o", tmp_path / "t", "--", "true", before=hidden),
                      "/proc/self/exe: cannot find the libraries of ddpscope: No such file or directory")  # fmt: skip
    somebody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    (tmp_path / "u").mkdir(mode=0o777)
    result = ddpscope("run", "-o", tmp_path / "v", "--", *somebody, "sh", "-c", "sleep 0.4; exit 2", cwd=tmp_path)
    assert result.returncode == 2 and "user nobody) may not" in result.stderr


@pytest.mark.parametrize("variable, value", [("TMPDIR", "/nonexistent"), ("HOME", None), ("PATH", None)])
def test_an_environment_that_lacks_something(variable, value, tmp_path):
    environment = {name: text for name, text in os.environ.items() if name != variable}
    if value:
        environment[variable] = value
    result = ddpscope("run", "-o", "t", "--", "/bin/sh", "-c", WRITES, cwd=tmp_path, env=environment)
    assert result.returncode == 0 and "1 process," in result.stderr, result.stderr
    assert ddpscope("report", "t", cwd=tmp_path, env=environment).returncode == 0


def test_options_after_the_command_are_the_jobs(tmp_path):
    """Without -- too: the first word that is no option begins the job."""
    result = ddpscope("run", "-o", "t", "echo", "hi", "-o", "x", "--report", cwd=tmp_path)
    assert result.returncode == 0 and result.stdout == "hi -o x --report\n"
    assert_cannot_run(ddpscope("run", "--reprot", "--", "true", cwd=tmp_path), "--reprot")
