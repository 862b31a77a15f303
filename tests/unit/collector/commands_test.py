"""The commands that read a trace, as a user meets them: exit codes, error lines, where output goes."""

import json
import os
import pty
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
from command_line import AS_ANYBODY, BUILD, DDPSCOPE, TWO_HEALTHY_RANKS, assert_cannot_run, compile_trace, ddpscope


@pytest.fixture
def trace(tmp_path):
    return compile_trace(TWO_HEALTHY_RANKS, tmp_path / "trace")


@pytest.mark.parametrize(
    "words, says",
    [
        (["frobnicate"], "no command 'frobnicate'"),
        (["report"], "TRACE"),
        (["report", "/nonexistent"], "no such file or folder"),
        (["report", "/dev/null"], "not a regular file"),
        (["diff", "a", "b"], "not in this version"),
        (["status", "x"], "not in this version"),
        (["export", "x", "--format", "perfetto", "-o", "y"], "not in this version"),
        (["view", "x"], "not in this version"),
        (["explain", "no-such-slug"], "no finding 'no-such-slug'"),
        (["explain", "straggler"], "not in this version"),
        (["report", "/nonexistent\x1b[31m"], "\\x1b[31m: there is no such file or folder"),
        (["report", "x", "--mpi"], "not in this version"),
        (["report", "x", "--shard", "1/2"], "not in this version"),
        (["report", "x", "--fail-on", "sometimes"], "sometimes"),
        (["info", "/nonexistent"], "no such file or folder"),
        (["dump", "/nonexistent"], "no such file or folder"),
    ],
)
def test_one_error_line_and_exit_2(words, says):
    assert_cannot_run(ddpscope(*words), says)


def test_explain_prints_the_page():
    result = ddpscope("explain", "skipped-barrier")
    assert result.returncode == 0
    assert result.stdout.startswith("# skipped-barrier")


def test_json_report_of_a_healthy_job(trace):
    result = ddpscope("report", trace, "--format", "json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert list(report) == ["schema", "ddpscope", "job", "coverage", "findings"]
    assert report["schema"] == 1
    assert list(report["job"]) == [
        "ranks", "processes", "hosts", "attempt", "start_unix_ns", "duration_s", "events", "dropped", "clock_error_us", "gpu_timing",
    ]  # fmt: skip
    assert report["job"]["ranks"] == 2 and report["job"]["events"] == 4
    assert report["findings"] == []


@pytest.mark.parametrize("output, why", [("no/such/folder", "No such file"), (".", "Is a directory"), ("", "")])
def test_report_to_a_file_that_cannot_be_written(trace, output, why, tmp_path):
    result = ddpscope("report", trace, "-o", output, cwd=tmp_path)
    assert_cannot_run(result, f"cannot write the report: {why}")


def test_report_without_write_permission(trace, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert_cannot_run(ddpscope("report", trace, "-o", locked / "report", before=AS_ANYBODY), "Permission denied")


def test_a_report_replaces_a_file_and_keeps_link_and_mode(trace, tmp_path):
    old = tmp_path / "old.json"
    old.write_text("x" * 100_000)
    old.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(old)
    assert ddpscope("report", trace, "--format", "json", "-o", link).returncode == 0
    assert json.loads(old.read_text())["job"]["ranks"] == 2
    assert link.is_symlink() and stat.S_IMODE(old.stat().st_mode) == 0o640


def test_a_report_that_does_not_fit_leaves_what_was_there(trace, tmp_path):
    old = tmp_path / "old.txt"
    old.write_text("yesterday")
    limited = ["prlimit", "--fsize=100", "env", "--ignore-signal=XFSZ"]
    assert_cannot_run(ddpscope("report", trace, "-o", old, before=limited), "File too large")
    assert old.read_text() == "yesterday"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["old.txt", "trace", "trace.txt"]


@pytest.mark.parametrize("words", [["info"], ["dump"], ["report"], ["explain"], ["explain", "skipped-barrier"], ["--help"]])
def test_output_that_does_not_arrive_is_an_error(trace, words):
    words = words + [trace] * (words[0] in ("info", "dump", "report"))
    with open("/dev/full", "w") as full:
        result = ddpscope(*words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert_cannot_run(result, "cannot write to standard output")
    closed = ["sh", "-c", 'exec "$@" >&-', "sh"]
    assert_cannot_run(ddpscope(*words, before=closed), "cannot write to standard output")


def test_errors_that_do_not_arrive_change_nothing_else():
    with open("/dev/full", "w") as full:
        assert ddpscope("report", "/nonexistent", capture_output=False, stderr=full).returncode == 2
    assert ddpscope("report", "/nonexistent", before=["sh", "-c", 'exec "$@" 2>&-', "sh"]).returncode == 2


def on_terminal(command, meanwhile=lambda process: None):
    """What a command writes to standard error if that is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        meanwhile(process)
        text = b""
        while True:
            try:
                text += os.read(ours, 4096)
            except OSError:  # the terminal's other end is closed
                break
        assert process.wait(timeout=120) == 0
    os.close(ours)
    return text.decode()


def make_it_take_a_second(process):
    """Stops the program once it has its second thread, which shows the progress."""
    while "Threads:\t2" not in Path(f"/proc/{process.pid}/status").read_text():
        assert process.poll() is None, "it ended without a second thread, or before one could be seen"
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.2)
    process.send_signal(signal.SIGCONT)


def test_progress_on_a_terminal_after_a_second(trace, tmp_path):
    large = tmp_path / "large"
    generate = [BUILD / "bin" / "tracegen", "--out", large, "--ranks", "2", "--steps", "20000"]
    subprocess.run(generate, check=True, timeout=120, stdout=subprocess.DEVNULL)
    text = on_terminal([DDPSCOPE, "report", large], make_it_take_a_second)
    assert "\r\x1b[Kddpscope: " in text and text.endswith("\r\x1b[K"), text
    assert on_terminal([DDPSCOPE, "report", trace]) == ""


@pytest.mark.parametrize("format", ["markdown", "html", "sarif", "junit"])
def test_formats_of_later_versions(trace, format):
    assert_cannot_run(ddpscope("report", trace, "--format", format), "not in this version")


def test_fail_on(tmp_path):
    golden = Path(__file__).parents[2] / "golden/skipped-barrier/speaks-early-return.txt"
    folder = compile_trace("let W = 2\n" + golden.read_text(), tmp_path / "trace")
    assert ddpscope("report", folder).returncode == 1
    assert ddpscope("report", folder, "--fail-on", "warning").returncode == 1
    assert ddpscope("report", folder, "--fail-on", "none").returncode == 0
    assert ddpscope("report", folder, "--only", "redundant-accumulation-sync").returncode == 0
    assert_cannot_run(ddpscope("report", folder, "--only", "no-such-slug"), "no finding 'no-such-slug'")


def test_dump_prints_every_record(trace):
    result = ddpscope("dump", trace)
    assert result.returncode == 0
    assert sum("ncclAllReduce" in line for line in result.stdout.splitlines()) == 2
    assert "datatype=float32" in result.stdout


def test_info_names_ranks(trace):
    result = ddpscope("info", trace)
    assert result.returncode == 0
    assert "2 ranks (world size 2)" in result.stdout
