"""The command ddpscope as a user meets it: exit codes, error lines, signals, the job's environment."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

BUILD = Path(os.environ["DDPSCOPE_BUILD"])
DDPSCOPE = str(BUILD / "bin" / "ddpscope")


def ddpscope(*words, **options):
    return subprocess.run([DDPSCOPE, *map(str, words)], capture_output=True, text=True, timeout=60, **options)


def assert_cannot_run(result, words):
    assert result.returncode == 2
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and words in lines[0], result.stderr


def compiled(tmp_path, lines):
    text, folder = tmp_path / "trace.txt", tmp_path / "trace"
    text.write_text(lines)
    subprocess.run([str(BUILD / "bin" / "text_trace"), str(text), str(folder)], check=True, timeout=60)
    return folder


@pytest.fixture
def trace(tmp_path):
    """Two healthy ranks."""
    return compiled(
        tmp_path,
        """
for r in 0..1 {
  process r$r rank=$r world=2 until=2
  r$r 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r
  r$r 1.0 +0.1 ncclAllReduce communicator=1 count=4 datatype=f32 stream=0x7
}
""",
    )


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
        (["run", "--ring", "12Q", "--", "true"], "not a size"),
        (["run", "--on-hang", "true", "--", "true"], "not in this version"),
        (["run", "-o", "/dev/null/x", "--", "true"], "cannot make the folder"),
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


def test_report_to_a_file_that_cannot_be_written(trace):
    assert_cannot_run(ddpscope("report", trace, "-o", "/nonexistent/report"), "cannot write the report")


@pytest.mark.parametrize("format", ["markdown", "html", "sarif", "junit"])
def test_formats_of_later_versions(trace, format):
    assert_cannot_run(ddpscope("report", trace, "--format", format), "not in this version")


def test_a_damaged_file_is_an_error_but_the_report_is_written(trace, tmp_path):
    (trace / "foreign.ddps").write_bytes(b"x" * 5000)
    output = tmp_path / "report.json"
    result = ddpscope("report", trace, "--format", "json", "-o", output)
    assert_cannot_run(result, "not a ddpscope trace file")
    report = json.loads(output.read_text())
    assert report["job"]["ranks"] == 2
    assert any("foreign.ddps" in entry["what"] for entry in report["coverage"])


def test_fail_on(tmp_path):
    text = tmp_path / "trace.txt"
    text.write_text(Path(__file__).parents[2].joinpath("golden/skipped-barrier/speaks-early-return.txt").read_text())
    text.write_text("let W = 2\n" + text.read_text())
    folder = tmp_path / "trace"
    subprocess.run([str(BUILD / "bin" / "text_trace"), str(text), str(folder)], check=True, timeout=60)
    assert ddpscope("report", folder).returncode == 1
    assert ddpscope("report", folder, "--fail-on", "warning").returncode == 1
    assert ddpscope("report", folder, "--fail-on", "none").returncode == 0
    assert ddpscope("report", folder, "--only", "redundant-accumulation-sync").returncode == 0
    assert_cannot_run(ddpscope("report", folder, "--only", "no-such-slug"), "no finding 'no-such-slug'")


# Rank 2 leaves out the first barrier, and what it does in its place is a broadcast.
SKIPPED = """
for r in 0..2 {
  process r$r rank=$r world=3 until=9
  r$r 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=$r size=3 device=$r
}
r0,r1 1.0 +0.1 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7 stack="group.py:9 barrier < prepare.py:31 prepare"
r2 1.0 +0.1 ncclBroadcast communicator=1 count=1M datatype=f32 peer=0 stream=0x7 stack="group.py:5 broadcast < train.py:20 start"
r* 1.2 inside cudaStreamSynchronize stream=0x7
"""

# Rank 2 leaves out a barrier in the middle, so that the others wait for one that it never makes; its last call
# is made where no stack is taken.
SHIFTED = """
for r in 0..2 {
  process r$r rank=$r world=3 until=9
  r$r 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=$r size=3 device=$r
  for i in 0..3 every 0.1 {
    r$r 1.0 +0.01 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7 stack="a.py:${i + 10} work"
    r$r 1.02 +0.01 cudaStreamSynchronize stream=0x7
  }
}
for r in 0..1 {
  r$r 2.0 +0.01 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7 stack="sync.py:3 sync"
  r$r 2.02 +0.01 cudaStreamSynchronize stream=0x7
}
for r in 0..2 {
  for i in 0..3 every 0.1 {
    r$r 3.0 +0.01 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7 stack="b.py:${i + 10} work"
    r$r 3.02 +0.01 cudaStreamSynchronize stream=0x7
  }
}
r0,r1 4.0 +0.01 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7 stack="end.py:1 end"
r0,r1 4.02 inside cudaStreamSynchronize stream=0x7
r2 4.0 +0.01 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7 stack="end.py:1 end"
r2 4.02 +0.01 cudaStreamSynchronize stream=0x7
r2 4.1 +0.01 fflush
r2 4.2 +0.01 _exit status=1
"""


def hang_alone(folder):
    result = ddpscope("report", folder, "--only", "hung-collective", "--format", "json")
    (finding,) = json.loads(result.stdout)["findings"]
    assert finding["ranks"] == [2]
    return finding


def test_a_hang_beside_a_skipped_barrier_names_the_call_in_its_place(tmp_path):
    title = hang_alone(compiled(tmp_path, SKIPPED))["title"]
    assert title.startswith("ranks 0 and 1 wait for the all-reduce of 1 float32 (sum) at prepare.py:31 prepare; ")
    assert title.endswith("; rank 2 issued the broadcast of 1048576 float32 (root 0) at train.py:20 start in its place")


def test_a_hang_after_a_skipped_barrier_names_what_was_left_out(tmp_path):
    finding = hang_alone(compiled(tmp_path, SHIFTED))
    assert "rank 2 never came" in finding["title"]
    assert finding["title"].endswith("; before, rank 2 left out the all-reduce of 1 float32 (sum) at sync.py:3 sync")
    assert any("end.py:1 end" in step["stack"] for step in finding["evidence"] if step["rank"] == 2)


def test_dump_prints_every_record(trace):
    result = ddpscope("dump", trace)
    assert result.returncode == 0
    assert sum("ncclAllReduce" in line for line in result.stdout.splitlines()) == 2
    assert "datatype=float32" in result.stdout


def test_info_names_ranks(trace):
    result = ddpscope("info", trace)
    assert result.returncode == 0
    assert "2 ranks (world size 2)" in result.stdout


# run


def test_run_returns_the_jobs_exit_code(tmp_path):
    assert ddpscope("run", "-o", tmp_path / "t", "--", "sh", "-c", "exit 7").returncode == 7
    assert ddpscope("run", "-o", tmp_path / "u", "--", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM


def test_run_of_a_command_that_does_not_exist(tmp_path):
    assert_cannot_run(ddpscope("run", "-o", tmp_path / "t", "--", "no-such-command"), "cannot start the command")


def test_run_says_when_nothing_was_recorded(tmp_path):
    result = ddpscope("run", "-o", tmp_path / "t", "--", "env", "-u", "LD_PRELOAD", "true")
    assert result.returncode == 0
    assert "no process of the job recorded anything" in result.stderr


def test_run_makes_a_private_folder_and_leaves_stdout_alone(tmp_path):
    result = ddpscope("run", "-o", tmp_path / "t", "--", "echo", "hello")
    assert result.stdout == "hello\n"
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == 0o700


def test_run_chooses_a_folder(tmp_path):
    assert ddpscope("run", "--", "true", cwd=tmp_path).returncode == 0
    assert [entry.name.rsplit(".", 1)[0] for entry in tmp_path.iterdir()] == ["ddpscope.true"]


def test_run_under_a_launcher_is_one_folder(tmp_path):
    environment = dict(os.environ, SLURM_JOB_ID="77", SLURM_STEP_ID="2")
    for _ in range(2):
        assert ddpscope("run", "--", "true", cwd=tmp_path, env=environment).returncode == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["ddpscope.77.2.0"]


def test_run_appends_to_what_is_preloaded(tmp_path):
    environment = dict(os.environ, LD_PRELOAD="libm.so.6")
    script = "echo $LD_PRELOAD $DDPSCOPE_TRACE $DDPSCOPE_RING"
    result = ddpscope("run", "-o", "t", "--ring", "8M", "--", "sh", "-c", script, env=environment, cwd=tmp_path)
    preload, folder, ring = result.stdout.split()
    assert preload == f"libm.so.6:{BUILD}/lib/libddpscope.so"
    assert folder == str(tmp_path / "t")
    assert ring == str(8 << 20)


def test_run_cpu_puts_the_stand_ins_in_front_and_says_that_nobody_used_them(tmp_path):
    script = "echo $LD_PRELOAD; echo x > y"
    result = ddpscope("run", "--cpu", "-o", tmp_path / "t", "--", sys.executable, "-c",
                      "import os; print(os.environ['LD_PRELOAD']); open('y', 'w').write('x')", cwd=tmp_path)  # fmt: skip
    assert result.returncode == 0, script
    names = [Path(library).name for library in result.stdout.strip().split(":")]
    assert names == ["libddpscope.so", "libcudart.so.13", "libnccl.so.2"]
    assert "the stand-ins of --cpu were not used" in result.stderr


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_run_passes_signals_on(tmp_path, sent):
    script = f"trap 'echo got; exit 3' {sent.name[3:]}; echo ready; while :; do sleep 0.1; done"
    with subprocess.Popen(
        [DDPSCOPE, "run", "-o", str(tmp_path / "t"), "--", "bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout.readline() == "ready\n"
        run.send_signal(sent)
        output, _ = run.communicate(timeout=60)
    assert output == "got\n"
    assert run.returncode == 3


def test_run_keeps_the_process_group(tmp_path):
    script = "import os; print(os.getpgrp() == int(open(f'/proc/{os.getppid()}/stat').read().rsplit(')', 1)[1].split()[2]))"
    assert ddpscope("run", "-o", tmp_path / "t", "--", sys.executable, "-c", script).stdout == "True\n"


def test_run_does_not_wait_for_what_the_job_leaves_behind(tmp_path):
    started = time.monotonic()
    result = ddpscope("run", "-o", tmp_path / "t", "--", "sh", "-c", "sleep 50 >/dev/null 2>&1 & echo $!")
    try:
        assert result.returncode == 0
        assert time.monotonic() - started < 40
    finally:
        os.kill(int(result.stdout), signal.SIGKILL)
