"""The commands that read a trace, as a user meets them: exit codes, error lines, where output goes."""

import json
import os
import pty
import re
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
        (["diff", "/nonexistent", "b"], "there is no such file or folder"),
        (["status", "x"], "no such file"),
        (["export", "x", "--format", "perfetto", "-o", "y"], "not in this version"),
        (["explain", "no-such-slug"], "no finding 'no-such-slug'"),
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


COMMANDS = ["run", "report", "explain", "info", "dump", "diff", "status", "export", "view"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_what_is_there_and_names_values(command):
    text = ddpscope(command, "--help").stdout
    assert "not in this version" not in text and not {"--shard", "--mpi", "perfetto"} & set(re.findall(r"[-\w]+", text))
    assert not re.search(r"\b(TEXT|INT|FLOAT)\b", text)


def test_help_manual_and_completion_name_values_alike():
    text, manual, completion = ddpscope("run", "--help").stdout, ddpscope("manual", "man").stdout, ddpscope("manual", "bash").stdout
    for option, value, offered in [("-o", "FOLDER", "-d"), ("--ring", "SIZE", None), ("--on-hang", "COMMAND", "-c")]:
        assert f"{option} {value} " in text
        assert "\\fB{}\\fR \\fI{}\\fR".format(option.replace("-", "\\-"), value) in manual
        assert f"run/{option}) COMPREPLY=({f'$(compgen {offered} -- ' if offered else ''}" in completion
    assert not {"perfetto", "--shard", "--mpi"} & set(re.findall(r"[-\w]+", (manual + completion).replace("\\-", "-")))


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


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a link of another user")
@pytest.mark.parametrize("command", [["report"], ["export", "--format", "merged"]], ids=lambda command: command[0])
def test_a_planted_link_is_not_followed(trace, tmp_path, command):
    mine, shared = tmp_path / "mine", tmp_path / "shared"
    mine.write_text("keep")
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "out").symlink_to(mine)
    os.lchown(shared / "out", 65534, 65534)
    assert_cannot_run(ddpscope(command[0], trace, *command[1:], "-o", shared / "out"), "a symbolic link of another user")
    assert mine.read_text() == "keep"


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


def make_it_take_seconds(process):
    """From its second thread on, which shows the progress, the program runs a hundredth of the time."""
    while "Threads:\t2" not in Path(f"/proc/{process.pid}/status").read_text():
        assert process.poll() is None, "it ended without a second thread, or before one could be seen"
    for _ in range(8):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.003)


def test_progress_on_a_terminal_after_a_second(trace, tmp_path):
    large = tmp_path / "large"
    generate = [BUILD / "bin" / "tracegen", "--out", large, "--ranks", "2", "--steps", "100000", "--fold", "1"]
    subprocess.run(generate, check=True, timeout=120, stdout=subprocess.DEVNULL)
    text = on_terminal([DDPSCOPE, "report", large], make_it_take_seconds)
    assert "\r\x1b[Kddpscope: " in text and text.endswith("\r\x1b[K"), text
    assert on_terminal([DDPSCOPE, "report", trace]) == ""


def test_fail_on(tmp_path):
    golden = Path(__file__).parents[2] / "golden/skipped-barrier/speaks-early-return.txt"
    folder = compile_trace("let W = 2\n" + golden.read_text(), tmp_path / "trace")
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
    title = hang_alone(compile_trace(SKIPPED, tmp_path / "trace"))["title"]
    assert title.startswith("ranks 0 and 1 wait for the all-reduce of 1 float32 (sum) at prepare.py:31 prepare; ")
    assert title.endswith("; rank 2 issued the broadcast of 1048576 float32 (root 0) at train.py:20 start in its place")


def test_a_hang_after_a_skipped_barrier_names_what_was_left_out(tmp_path):
    finding = hang_alone(compile_trace(SHIFTED, tmp_path / "trace"))
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
    assert "2 ranks, 2 processes on 1 host, world size 2" in result.stdout


@pytest.mark.parametrize("process, says", [
    ("process p rank=0 until=2", "1 rank, 1 process on 1 host, no world size told, attempt 0"),
    ("process p rank=0 world=1 until=2", "1 rank, 1 process on 1 host, world size 1, attempt 0")])
def test_a_world_that_nothing_tells_has_no_size(tmp_path, process, says):
    trace = compile_trace(f"{process}\np 0.5 +0.1 mkdir path=/out\n", tmp_path / "trace")
    merged = tmp_path / "job.merged"
    assert ddpscope("export", trace, "-o", merged, "--format", "merged").returncode == 0
    for kind in (trace, merged):
        assert f"job       {says}\n" in ddpscope("info", kind).stdout


@pytest.mark.parametrize("lines, says", [
    ('p 0.1 +0 nvtxRangePush name="step"\np 0.2 +0 nvtxRangePush name="load"\np 0.3 +0 nvtxRangePop\np 0.4 +0 nvtxRangePop\n'
     'p 0.5 +0 nvtxRangeStart id=7 name="save"\np 0.6 +0 nvtxRangeEnd id=7\np 0.7 +0 nvtxMark name="saved"\n', "3 ranges, 1 mark"),
    ('p 0.5 +0 nvtxRangeStart id=7 name="never ends"\n', "1 range, 0 marks"),
    ("p 0.5 +0.1 mkdir path=/out\n", None)])
def test_info_counts_the_programs_own_ranges(tmp_path, lines, says):
    info = ddpscope("info", compile_trace("process p rank=0 until=2\n" + lines, tmp_path / "trace")).stdout
    assert [line.split(maxsplit=1)[1] for line in info.splitlines() if line.startswith("  nvtx ")] == ([says] if says else [])


def test_one_rank_alone_is_not_called_healthy(tmp_path):
    one = compile_trace("process p pid=100 rank=0 until=2\np 0.5 +0.1 mkdir path=/out\n", tmp_path / "one")
    report = json.loads(ddpscope("report", one, "--format", "json").stdout)
    rows = {row["what"]: row["unjudged"] for row in report["coverage"]}
    assert "missing-barrier" in rows["what ranks do beside each other"]
    assert ddpscope("report", one).stdout.startswith("1 rank, 1 process, ")


FILES = """
for r in 0..1 {
  process r$r rank=$r world=2 until=2
  r$r 0.5 +0.1 mkdir path=/out$r
}
"""


@pytest.mark.parametrize("world", [2, 4])
def test_a_job_of_which_one_rank_is_left_cannot_be_judged(world, tmp_path):
    left = compile_trace(f"process p rank=0 world={world} until=2\np 0.5 +0.1 mkdir path=/out\n", tmp_path / "left")
    result = ddpscope("report", left)
    assert_cannot_run(result, f"left: nothing could be judged: {world - 1} of {world} ranks: 1")
    assert "nothing found\n" in result.stdout and f"{world - 1} of {world} ranks: 1" in result.stdout


def test_info_tells_what_collectives_took(tmp_path):
    golden = Path(__file__).parents[2] / "golden/straggler/speaks-slow-input.txt"
    trace = compile_trace("let W = 2\n" + golden.read_text(), tmp_path / "trace")
    lines = ddpscope("info", trace).stdout.splitlines()
    row = lines[[line.split() for line in lines].index("collectives ranks size from timed transfer longest wait bus bandwidth".split()) + 1]
    # 4 MiB in a millisecond, behind 41 ms of waiting.
    assert row.split() == "all-reduce 2 4 MiB 60 1.000 ms 41.000 ms 4.19 GB/s".split()


def test_ranks_that_recorded_neither_collectives_nor_files_cannot_be_judged(tmp_path):
    trace = compile_trace("process p rank=0 world=2 until=2\nprocess q rank=1 world=2 until=2\n", tmp_path / "trace")
    result = ddpscope("report", trace)
    assert_cannot_run(result, "neither collectives nor file accesses of theirs were recorded")
    assert "neither collectives nor file accesses" in " ".join(result.stdout.split())


def test_only_what_could_not_be_judged_at_all_is_an_error(tmp_path):
    trace = compile_trace(FILES, tmp_path / "trace")
    assert ddpscope("report", trace).returncode == 0
    assert ddpscope("report", trace, "--only", "missing-barrier,hung-collective").returncode == 0
    result = ddpscope("report", trace, "--only", "hung-collective")
    assert_cannot_run(result, "nothing of hung-collective could be judged: collectives (neither a communicator of NCCL")
    assert_cannot_run(ddpscope("report", trace, "--only", "straggler"), "straggler could be judged: collectives (neither a")


def test_a_report_says_what_was_looked_for(tmp_path):
    golden = Path(__file__).parents[2] / "golden/checkpoint-race/speaks-gone.txt"
    trace = compile_trace("let W = 2\n" + golden.read_text(), tmp_path / "trace")
    result = ddpscope("report", trace, "--only", "missing-barrier,ineffective-barrier")
    assert result.returncode == 0, result.stderr
    assert "\n\nlooked for: missing-barrier, ineffective-barrier only\n\nnothing found\n" in result.stdout
    report = json.loads(ddpscope("report", trace, "--only", "missing-barrier", "--format", "json").stdout)
    assert report["only"] == ["missing-barrier"]
    assert list(report) == ["schema", "ddpscope", "job", "only", "coverage", "findings"]
    assert "looked for:" not in ddpscope("report", trace).stdout


def test_ranks_that_nobody_numbers_are_told_as_such(tmp_path):
    race = """
process p pid=100 until=2
process q pid=200 until=2
p,q 0.1 +0.1 cudaSetDevice device=0
p 0.5 +0.01 open path=/data/a flags=wronly|creat|trunc file=1 stack="a.py:1 write"
p 0.6 +0.01 write file=1 bytes=1M next=1M
p 0.7 +0.01 close file=1
q 1.0 +0.01 open path=/data/a file=1 stack="a.py:2 read"
q 1.1 +0.01 read file=1 bytes=1M next=1M
"""
    trace = compile_trace(race, tmp_path / "trace")
    assert "  ranks     0, 1 (numbered by order of start)\n" in ddpscope("report", trace).stdout
    report = json.loads(ddpscope("report", trace, "--format", "json").stdout)
    assert report["findings"][0]["ranks"] == [0, 1]
    assert any("numbered by order of start" in row["why"] for row in report["coverage"])
    named = compile_trace(race.replace("pid=100", "rank=0 world=2").replace("pid=200", "rank=1 world=2"), tmp_path / "named")
    assert "  ranks     0, 1\n" in ddpscope("report", named).stdout


def missing_barrier(name, world, folder):
    golden = Path(__file__).parents[2] / "golden/missing-barrier" / name
    trace = compile_trace(f"let W = {world}\n" + golden.read_text(), folder / golden.stem)
    (finding,) = json.loads(ddpscope("report", trace, "--format", "json").stdout)["findings"]
    return finding


def test_a_barrier_of_another_group_is_told(tmp_path):
    finding = missing_barrier("speaks-subgroup-only.txt", 4, tmp_path)
    assert finding["advice"].endswith(" The barrier between the two is one of ranks 0, 1 and 2 only.")
    assert [step["rank"] for step in finding["evidence"]] == [0, 0, 3]
    assert finding["evidence"][1]["detail"] == "all-reduce of 1 float32 (sum): a barrier of ranks 0, 1 and 2 only"
    assert "is one of" not in missing_barrier("speaks-forgotten.txt", 4, tmp_path)["advice"]


def test_a_name_that_was_missed_is_told_though_it_came_by_a_rename(tmp_path):
    finding = missing_barrier("speaks-missed-before-renamed.txt", 2, tmp_path)
    assert finding["evidence"][0]["file"] == "/data/train.csv"
    assert finding["evidence"][0]["detail"] == "renames /data/train.csv.tmp to it"
    assert finding["order"]["last_before"] == "rank 0 makes /data/train.csv until 1.531 s"


def test_the_first_pair_that_is_left_unjudged_has_a_place(tmp_path):
    golden = Path(__file__).parents[2] / "golden" / "missing-barrier" / "silent-queue.txt"
    report = json.loads(ddpscope("report", compile_trace(golden.read_text(), tmp_path / "t"), "--format", "json").stdout)
    left = [row["what"] for row in report["coverage"] if "missing-barrier" in row["unjudged"]]
    assert any("pairs of accesses to a file, first /data/train.csv: rank 0 at prepare.py:40 write, rank 1 at dataset.py:7 load"
               in what for what in left), left


@pytest.mark.parametrize("name", ["speaks-slow-device", "silent-taking-turns"])
def test_who_was_judged_is_not_left_unjudged(name, tmp_path):
    """Nor for a communicator that the job seldom uses."""
    golden = (Path(__file__).parents[2] / f"golden/straggler/{name}.txt").read_text()
    golden += """
for r in 0..1 {
  r$r 0.200 +0.050 ncclCommInitRank communicator=2 id=0xdef rank=$r size=2 device=$r
  r$r 0.300 +0.001 ncclAllReduce communicator=2 count=1M datatype=f32 stream=0x7 buffer=0x900
}
"""
    report = json.loads(ddpscope("report", compile_trace("let W = 2\n" + golden, tmp_path / "t"), "--format", "json").stdout)
    assert not [row for row in report["coverage"] if "straggler" in row["unjudged"]]
