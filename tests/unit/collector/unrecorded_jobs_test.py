"""Jobs of which nothing is recorded: `ddpscope run` says in one line what it saw of them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from command_line import BUILD, compile_program, ddpscope, write_program_of_32_bits

INJECTOR = BUILD / "lib" / "libddpscope.so"
PYTHON = os.path.realpath(sys.executable)
SLEEPS = [PYTHON, "-c", "import time; time.sleep(0.4)"]
POSSIBLE = "was too quick to be seen: it ended before it made a call that is recorded, its environment was scrubbed"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="it takes root to mount, chroot, and be somebody else")


def causes(folder, *command, code=0, **options):
    """What the one line says, with PIDs as N."""
    result = ddpscope("run", "-o", folder / "t", "--", *command, cwd=folder, **options)
    assert result.returncode == code, result.stderr
    said = re.findall(r"^ddpscope: no process of the job recorded anything: (.*)$", result.stderr, re.M)
    assert len(said) == 1, result.stderr
    return re.sub(r"\((\d+)", "(N", said[0])


def in_shell(words):
    return shlex.join(map(str, words))


def test_an_import_error(tmp_path):
    said = causes(tmp_path, PYTHON, "-c", "import time; time.sleep(0.3); import no_such_module", code=1)
    assert re.fullmatch(rf"{PYTHON} \(N\) had the library loaded and ended with exit code 1 after 0\.[3-9] s, "
                        "before it made a call that is recorded", said), said  # fmt: skip


def test_an_import_error_below_a_shell(tmp_path):
    work = "import time; sum(range(3_000_000)); time.sleep(0.3); import no_such_module"
    said = causes(tmp_path, "sh", "-c", in_shell([PYTHON, "-c", work]) + "; exit 4", code=4)
    assert re.fullmatch(rf"{PYTHON} \(N\) had the library loaded and made no call that is recorded; "
                        r"the command ended with exit code 4 after \d\.\d s", said), said  # fmt: skip


def test_a_job_that_ends_at_once(tmp_path):
    said = causes(tmp_path, "false", code=1)
    assert re.fullmatch(r"\S*false \(N\) (was started with the library|had the library loaded) and ended with exit code 1 "
                        r"after 0\.\d s, before it made a call that is recorded", said), said  # fmt: skip


@pytest.mark.parametrize("scrub", [["env", "-i"], ["env", "-u", "LD_PRELOAD"], ["env", "LD_PRELOAD="]])
def test_a_scrubbed_environment(tmp_path, scrub):
    assert re.fullmatch(rf"{PYTHON} \(N\) ran without LD_PRELOAD in its environment, which \S*env \(N\) still had",
                        causes(tmp_path, *scrub, *SLEEPS))  # fmt: skip


def test_a_scrubbed_environment_below_a_shell(tmp_path):
    said = causes(tmp_path, "bash", "-c", in_shell(["env", "-i", *SLEEPS]) + "; exit 3", code=3)
    assert re.fullmatch(rf"{PYTHON} \(N\) ran without LD_PRELOAD in its environment, which \S*(env|bash) \(N\) still had", said), said


def test_a_shell_that_clears_its_environment(tmp_path):
    """Ranks of one program are one cause; what they start below lacks the same."""
    ranks = f"unset LD_PRELOAD; for r in 1 2 3; do {in_shell(SLEEPS)} & done; wait"
    said = causes(tmp_path, "bash", "-c", ranks)
    assert re.fullmatch(rf"{PYTHON} \(N\) ran without LD_PRELOAD in its environment, which \S*bash \(N\) still had, "
                        "and so did 2 more", said), said  # fmt: skip
    below = "import subprocess, time; subprocess.run(['sleep', '0.4'])"
    said = causes(tmp_path, "env", "-i", PYTHON, "-c", below)
    assert re.fullmatch(rf"{PYTHON} \(N\) ran without LD_PRELOAD in its environment, which \S*env \(N\) still had", said), said


@pytest.mark.parametrize("words, cause", [
    (["env", "-u", "DDPSCOPE_TRACE"], r"ran without DDPSCOPE_TRACE in its environment, which \S*env \(N\) still had"),
    (["env", "LD_PRELOAD=libm.so.6"], rf"ran with an LD_PRELOAD that lacks {INJECTOR}, which \S*env \(N\) still had"),
    (["env", "DDPSCOPE_DISABLE=1"], "ran with DDPSCOPE_DISABLE in its environment, which switches recording off"),
])  # fmt: skip
def test_an_environment_that_lacks_something(tmp_path, words, cause):
    said = causes(tmp_path, *words, *SLEEPS)
    assert re.fullmatch(rf"{PYTHON} \(N\) {cause}", said), said


def test_a_program_that_is_too_quick(tmp_path):
    """Nothing is claimed of it."""
    program = compile_program(tmp_path / "quick", "int main() { return 0; }\n", "cc", "-static")
    become = compile_program(tmp_path / "become", '#include <unistd.h>\nint main() { return execle("./quick", "quick", (char*)0, (char*[]){0}); }\n', "cc")
    start = compile_program(tmp_path / "start", '#include <spawn.h>\n#include <sys/wait.h>\nint main() { char* words[] = {"quick", 0}; pid_t child;\n'
                            'return posix_spawn(&child, "./quick", 0, 0, words, words + 1) || wait(0) != child; }\n', "cc")
    seen = r"quick \(N\) is linked statically|ran without LD_PRELOAD"
    said = causes(tmp_path, become)
    assert f"{become} (N) became {program.name}, which {POSSIBLE}" in said or re.search(seen, said), said
    said = causes(tmp_path, start)
    assert f"what {start} (N) started {POSSIBLE}" in said or re.search(seen, said), said


SLEEPS_IN_C = "#include <unistd.h>\nint main() { usleep(400000); return 0; }\n"


def test_a_static_program_below_a_shell(tmp_path):
    program = compile_program(tmp_path / "job", SLEEPS_IN_C, "cc", "-static")
    assert causes(tmp_path, "bash", "-c", "./job; exit 2", code=2) == f"{program} (N) is linked statically"


def test_a_scrubbed_environment_below_a_static_program(tmp_path):
    """The one is no reason for the other."""
    source = '#include <unistd.h>\nint main(int n, char** words) { return execve(words[1], words + 1, (char*[]){0}); }\n'
    compile_program(tmp_path / "job", source, "cc", "-static")
    said = causes(tmp_path, "./job", *SLEEPS)
    assert re.fullmatch(rf"./job is linked statically; {PYTHON} \(N\) ran without LD_PRELOAD in its environment, which \S+/?job \(N\) still had", said), said


def test_a_program_of_32_bits_below_a_shell(tmp_path):
    job = tmp_path / "job"
    write_program_of_32_bits(job, "b81d000000cd80ebf7909090")  # pause(), again and again
    try:
        subprocess.Popen([job]).kill()
    except OSError:
        pytest.skip("this kernel runs no program of 32 bits")
    said = causes(tmp_path, "bash", "-c", "timeout 0.4 ./job; exit 2", code=2)
    assert said == f"{job} (N) is a program of 32 bits"


def test_a_dynamic_linker_that_does_not_preload(tmp_path):
    compile_program(tmp_path / "linker", 'void _start(void) { for (;;) __asm__ volatile("syscall" : : "a"(34)); }  // pause\n', "cc", "-static", "-nostdlib")
    job = compile_program(tmp_path / "job", "int main() { return 0; }\n", "cc", f"-Wl,--dynamic-linker={tmp_path}/linker")
    said = causes(tmp_path, "bash", "-c", "timeout 2 ./job; exit 2", code=2)
    assert said == f"{job} (N) had LD_PRELOAD in its environment, but its dynamic linker did not load {INJECTOR}"


def hidden_by(mounts, folder, *before):
    """What mounts is not preloaded: it would be recorded."""
    job = f"{mounts} && cd / && LD_PRELOAD={INJECTOR} exec {in_shell([*before, *SLEEPS])}"
    return causes(folder, "env", "-u", "LD_PRELOAD", "unshare", "--mount", "bash", "-c", job)


@as_root
@pytest.mark.parametrize("hide, cause", [
    ("mount -t tmpfs none {folder}", "where {folder}/t is not there"),
    ("mkdir {folder}/t/other && mount --bind {folder}/t/other {folder}/t", "where {folder}/t is another folder"),
    ("mount --bind {folder}/t {folder}/t && mount -o remount,bind,ro {folder}/t", "where {folder}/t is read-only"),
    ("mount -t tmpfs none {library}", "where {library}/libddpscope.so is not there"),
])  # fmt: skip
def test_another_mount_namespace(tmp_path, hide, cause):
    names = {"folder": tmp_path, "library": INJECTOR.parent}
    assert f"{PYTHON} (N) ran in another root or mount namespace, {cause.format(**names)}" in hidden_by(hide.format(**names), tmp_path)


@as_root
def test_another_root(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    said = hidden_by(f"mount --bind / {root} && mount -t tmpfs none {root}{tmp_path}", tmp_path, "chroot", root)
    assert f"{PYTHON} (N) ran in another root or mount namespace, where {tmp_path}/t is not there" in said, said


@as_root
def test_another_user(tmp_path):
    somebody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    said = causes(tmp_path, *somebody, "sh", "-c", "sleep 0.4; exit 2", code=2)
    assert re.search(rf" \(N, user nobody\) may not (write to {tmp_path}/t|read {INJECTOR})", said), said


@pytest.fixture
def of_nobody():
    """A folder of nobody's, and what makes a command theirs in front of `ddpscope`. Not below pytest's: another
    pytest that starts meanwhile makes that one root's alone."""
    before = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        if subprocess.run([*before, "test", "-x", BUILD / "bin" / "ddpscope", "-a", "-w", folder], timeout=60).returncode != 0:
            pytest.skip("nobody cannot reach this build")
        yield Path(folder), before


@as_root
def test_a_program_that_may_not_be_read(of_nobody):
    folder, before = of_nobody
    program = compile_program(folder / "job", SLEEPS_IN_C, "cc")
    program.chmod(0o711)
    said = causes(folder, "sh", "-c", f"{program}; exit 2", code=2, before=before)
    assert said == "job (N) keeps its environment from being looked at"


@as_root
def test_a_program_that_hides_itself(of_nobody):
    """It was seen before."""
    folder, before = of_nobody
    program = compile_program(folder / "job", "#include <unistd.h>\n#include <sys/prctl.h>\n"
                              "int main() { usleep(300000); prctl(PR_SET_DUMPABLE, 0); usleep(600000); return 3; }\n", "cc")  # fmt: skip
    said = causes(folder, program, code=3, before=before)
    assert re.fullmatch(rf"{program} \(N\) had the library loaded and ended with exit code 3 after \d\.\d s, before .*", said), said


def test_what_is_recorded_is_not_explained(tmp_path):
    result = ddpscope("run", "-o", tmp_path / "t", "--", "bash", "-c", "env -i sleep 0.1; echo x > y; env -i sleep 0.1", cwd=tmp_path)
    assert result.returncode == 0 and "1 process," in result.stderr
    assert "recorded anything" not in result.stderr and "LD_PRELOAD" not in result.stderr


def test_looks_end_when_something_is_recorded(tmp_path):
    """They are for the first trace alone: of a job that is recorded no process is looked at any more."""
    strace = shutil.which("strace")
    if not strace:
        pytest.skip("it takes strace to see what run reads")
    log = tmp_path / "log"
    job = "import time; open('y', 'w').close(); time.sleep(1.5)"
    result = ddpscope("run", "-o", tmp_path / "t", "--", PYTHON, "-c", job, cwd=tmp_path,
                      before=[strace, "-ttt", "-e", "trace=openat", "-o", log])  # fmt: skip
    assert result.returncode == 0 and "1 process," in result.stderr, result.stderr
    looks = [float(time) for time in re.findall(r"^(\d+\.\d+) openat\(.*/proc/\d+/environ", log.read_text(), re.M)]
    assert looks and looks[-1] < (tmp_path / "y").stat().st_mtime + 0.5
