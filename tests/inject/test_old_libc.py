"""The injector starts and records on systems that are older than the one it was built on."""
import pathlib
import re
import subprocess

import ddpscope
import pytest

INJECTOR = ddpscope.BUILD / "lib" / "libddpscope.so"
DEBIAN11 = ddpscope.BUILD / "interpreters/debian-11"
LIBRARIES = DEBIAN11 / "lib/x86_64-linux-gnu"
PYTHON = [LIBRARIES / "ld-linux-x86-64.so.2", "--library-path", f"{LIBRARIES}:{DEBIAN11}/usr/lib/x86_64-linux-gnu",
          DEBIAN11 / "usr/bin/python3.9"]

older = pytest.mark.skipif(not (DEBIAN11 / "ready").exists(), reason="Debian 11's libc is not here: tests/interpreters.sh")

# Rank 0 writes, rank 1 reads, and nothing orders the two.
RANKS = """import os, threading, time
print(os.confstr("CS_GNU_LIBC_VERSION"))

def save():
    with open("data", "w") as file:
        file.write("of rank 0")

def load():
    time.sleep(0.5)
    with open("data") as file:
        assert file.read() == "of rank 0"

children = []
for rank, work in enumerate((save, load)):
    children.append(os.fork())
    if not children[-1]:
        os.environ.update(RANK=str(rank), WORLD_SIZE="2")
        open(f"own{rank}", "w").close()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        os._exit(0)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
"""


def test_it_asks_for_nothing_that_is_newer_than_glibc_2_17():
    dynamic = subprocess.check_output(["objdump", "-p", INJECTOR], text=True)
    needed = {tuple(map(int, version.split("."))) for version in re.findall(r" GLIBC_([0-9.]+)\n", dynamic.split("Version References:")[1])}
    assert needed and max(needed) <= (2, 17), sorted(needed)
    assert "RUNPATH" not in dynamic and "RPATH" not in dynamic
    assert re.findall(r"NEEDED +(\S+)", dynamic) == ["libdl.so.2", "libc.so.6", "ld-linux-x86-64.so.2"]


@older
def test_what_it_must_find_is_there(tmp_path):
    """In a process of its libraries alone, without libpthread."""
    def symbols(library, which):
        rows = [row.split() for row in subprocess.check_output(["objdump", "-T", library], text=True).splitlines() if " *UND*" in row or "\t" in row]
        return {row[-1] for row in rows if which(row)}
    there = set().union(*(symbols(LIBRARIES / name, lambda row: "*UND*" not in row)
                          for name in ("libc.so.6", "libdl.so.2", "ld-linux-x86-64.so.2")))
    needed = symbols(INJECTOR, lambda row: "*UND*" in row and "w" not in row[1])
    assert len(needed) > 30 and not needed - there, needed - there


@older
def test_a_bug_is_found_on_debian_11(tmp_path):
    script = tmp_path / "ranks.py"
    script.write_text(RANKS)
    plain, recorded = tmp_path / "plain", tmp_path / "recorded"
    plain.mkdir()
    recorded.mkdir()
    environment = {"PYTHONHOME": str(DEBIAN11 / "usr")}
    done = ddpscope.start([*PYTHON, script], plain, environment)
    assert (done.code, done.stdout) == (0, "glibc 2.31\n"), done
    again = ddpscope.record([*PYTHON, script], tmp_path / "trace", recorded, env=environment)
    assert (again.code, again.stdout) == (0, "glibc 2.31\n"), again.stderr
    finding = ddpscope.only_finding(tmp_path / "trace", "missing-barrier")
    for rank, line in ((0, 'open("data", "w")'), (1, 'open("data")')):
        assert any(f"ranks.py:{ddpscope.line_of(script, line)} " in frame for frame in ddpscope.frames(finding, rank)), finding
