"""Processes that cannot make their trace file go on, are counted, and `run` says what stood against it."""
import re
import sys

import ddpscope
import pytest

WRITER = ("import os, resource, sys\n"
          "{limit}\n"
          "with open(sys.argv[1], 'w') as out:\n"
          "    out.write('x')\n"
          "{after}")
SMALL_FILES = "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
# Its only call that makes it a process to record takes no descriptor.
WITHOUT_DESCRIPTORS = ("import os, resource, sys\n"
                       "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
                       "try:\n"
                       "    while True: os.dup(2)\n"
                       "except OSError: pass\n"
                       "os.rename(sys.argv[1] + '.new', sys.argv[1])\n")


def record(folder, *scripts):
    """Runs the scripts one after the other as one job, each with a file of its own as its argument."""
    words = []
    for i, script in enumerate(scripts):
        (folder / f"{i}.py").write_text(script)
        words.append(f"{sys.executable} {folder / f'{i}.py'} {folder / f'out{i}'}")
    command = ["sh", "-c", " && ".join(words)]
    return ddpscope.start([ddpscope.DDPSCOPE, "run", "-o", folder / "trace", "--", *command], cwd=folder)


@pytest.mark.parametrize("script, why", [(WRITER.format(limit=SMALL_FILES, after=""), "File too large"),
                                         (WITHOUT_DESCRIPTORS, "Too many open files")], ids=["size", "descriptors"])
def test_nothing_was_recorded_and_the_cause_is_named(tmp_path, script, why):
    (tmp_path / "out0.new").write_text("x")
    done = record(tmp_path, script)
    assert done.code == 0 and (tmp_path / "out0").read_text() == "x"
    assert re.search(rf"ddpscope: 1 process could not make a trace file: {why} \(\S+:\d+\)\n", done.stderr), done.stderr
    assert "scrubbed" not in done.stderr
    report = ddpscope.start([ddpscope.DDPSCOPE, "report", tmp_path / "trace"], cwd=tmp_path)
    assert report.code == 2 and "1 process could not make a trace file: " + why in report.stderr, report.stderr


def test_those_that_are_missing_are_named_beside_the_others(tmp_path):
    done = record(tmp_path, WRITER.format(limit="", after=""), WRITER.format(limit=SMALL_FILES, after=""),
                  WRITER.format(limit=SMALL_FILES, after=""))
    assert done.code == 0 and re.search(r"2 processes could not make a trace file: File too large \(\S+:\d+, \S+:\d+\)", done.stderr)
    row, = [row for row in ddpscope.report(tmp_path / "trace")["coverage"] if row["what"] == "what was not recorded"]
    assert "2 processes could not make a trace file" in row["why"] and "missing-barrier" in row["unjudged"]
    info = ddpscope.start([ddpscope.DDPSCOPE, "info", tmp_path / "trace"], cwd=tmp_path).stdout
    assert re.search(r"^missing +2 processes could not make a trace file: File too large", info, re.M), info


def test_marks_of_an_earlier_job_say_nothing_of_this_one(tmp_path):
    assert "could not make" in record(tmp_path, WRITER.format(limit=SMALL_FILES, after="")).stderr
    done = record(tmp_path, WRITER.format(limit="", after=""))
    assert done.code == 0 and "could not make" not in done.stderr, done.stderr
    assert not [row for row in ddpscope.report(tmp_path / "trace")["coverage"] if row["what"] == "what was not recorded"]


def test_a_child_tries_anew(tmp_path):
    """Its parent has raised the limit before it forks."""
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))"
    after = ("resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
             "if os.fork() == 0:\n"
             "    open(sys.argv[1] + '.child', 'w').write('y')\n"
             "    os._exit(0)\n"
             "os.wait()\n")
    done = record(tmp_path, WRITER.format(limit=limit, after=after))
    assert done.code == 0 and "1 process could not make a trace file: File too large" in done.stderr, done.stderr
    dump = ddpscope.start([ddpscope.DDPSCOPE, "dump", tmp_path / "trace"], cwd=tmp_path).stdout
    assert "out0.child" in dump
