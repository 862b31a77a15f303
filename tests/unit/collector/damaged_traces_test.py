"""One wrong place in a trace: its exact error line, no finding, no absurd number; the rest is analysed."""

import json
import re

import damage
import pytest
from command_line import assert_cannot_run, compile_trace, ddpscope

TWO_RANKS_TO_THEIR_END = """
for r in 0..1 {
  process r$r rank=$r world=2
  r$r 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r
  for i in 0..9 every 0.1 {
    r$r 1.0 +0.05 ncclAllReduce communicator=1 count=4 datatype=f32 stream=0x7 stack="train.py:${i + 1} step"
    r$r 1.06 +0.01 cudaStreamSynchronize stream=0x7
  }
  r$r 2.5 +0.01 cudaLaunchKernel
  r$r 3 +0.001 _exit status=0
}
"""


@pytest.fixture
def trace(tmp_path):
    return compile_trace(TWO_RANKS_TO_THEIR_END, tmp_path / "trace")


def damaged(trace, change):
    """The first file after change(its bytes)."""
    victim = sorted(trace.glob("*.ddps"))[0]
    content = bytearray(victim.read_bytes())
    change(content)
    victim.write_bytes(content)
    return victim


def assert_told(trace, victim, says, most_events=48):
    """`report` and `info` tell it in the same words, and nothing is made of what was damaged."""
    result = ddpscope("report", trace, "--format", "json")
    assert_cannot_run(result, "")
    assert result.stderr == (f"error: {victim}: the trace file is damaged: {says}\n"
                             "hint: what is sound in it was analysed; `ddpscope info` tells the rest\n")  # fmt: skip
    report = json.loads(result.stdout)
    assert report["findings"] == [] and report["job"]["ranks"] == 2
    assert report["job"]["events"] <= most_events and report["job"]["dropped"] == 0 and report["job"]["duration_s"] < 10
    assert any(entry["what"] == str(victim) and "skipped-barrier" in entry["unjudged"] for entry in report["coverage"])
    info = ddpscope("info", trace)
    assert info.returncode == 2 and f"damage    {says}" in info.stdout
    counted = [line for line in info.stdout.splitlines() if re.match("events|time|  file|  tables|  calls", line)]
    assert not re.search(r"[0-9]{7}", " ".join(line.split(" (")[-1] for line in counted)), counted
    assert ddpscope("dump", trace).returncode == 2
    return report


@pytest.mark.parametrize(
    "field, value, says",
    [
        ("health 0", 1 << 63, "its header counts 9223372036854775808 kept_records_lost, which cannot be"),
        ("health 2", 10**13, "its header counts 10000000000000 bulk_records_overwritten, which cannot be"),
        ("content_bytes", 1 << 62, "its header says that the content ends at byte 4611686018427387904, which cannot be"),
        ("content_bytes", 0, "its header says that the content ends at byte 0, which cannot be"),
        ("chunks", 1 << 40, "3 of the 1099511627776 chunks that its header counts are there"),
        ("chunks", 2, "there are 3 chunks, its header counts 2"),
        ("threads", 1 << 31, "its header counts 2147483648 threads, there are 1"),
        ("strings", 1 << 30, "its header counts 1073741824 strings, there are 6"),
        ("stacks", 0, "its header counts 0 stacks, there are 10"),
        ("opened.ticks", 1 << 62, "1 of its 5 clock readings disagree with the others"),
        ("opened.monotonic", 1, "1 of its 5 clock readings disagree with the others"),
        ("opened.realtime", 1, "1 of its 5 clock readings disagree with the others"),
        ("latest.ticks", 0, "1 of its 5 clock readings disagree with the others"),
        ("latest.monotonic", 1 << 63, "1 of its 5 clock readings disagree with the others"),
    ],
)
def test_a_number_of_the_header(trace, field, value, says):
    assert_told(trace, damaged(trace, lambda content: damage.set_header(content, field, value)), says)


def first_record(content):
    return damage.records(content, [damage.RECORDS])[8]


@pytest.mark.parametrize(
    "offset, size, value",
    [(0, 8, 1 << 62), (0, 8, 7), (8, 8, 1), (8, 8, 1 << 63), (16, 2, 0), (16, 2, 999), (16, 2, 65535), (18, 2, 2)],
    ids=["begin far off", "begin long ago", "end before begin", "end far off", "no call", "unknown call", "call beyond all", "thread"],
)
def test_a_record(trace, offset, size, value):
    victim = damaged(trace, lambda content: damage.put(content, first_record(content) + offset, size, value))
    assert_told(trace, victim, "1 record of no call or no time")


def test_two_records_that_changed_places(trace):
    def swap(content):
        a, b = damage.records(content, [damage.RECORDS])[8:14:5]
        content[a : a + 64], content[b : b + 64] = content[b : b + 64], content[a : a + 64]

    assert_told(trace, damaged(trace, swap), "2 records of no call or no time")


def test_a_chunk_of_zeros(trace):
    def zero(content):
        at, size, _, _ = next(chunk for chunk in damage.chunks(content) if chunk[2] == damage.BULK)
        content[at : at + size] = bytes(size)

    assert_told(trace, damaged(trace, zero), "2 of the 3 chunks that its header counts are there")


def test_a_chunk_of_zeros_where_several_threads_wrote(tmp_path):
    """Each chunk that was finished must be there, though a thread may have been about to open one."""
    text = TWO_RANKS_TO_THEIR_END.replace("  r$r 2.5", "  r$r/2 2.4 +0.01 cudaLaunchKernel\n  r$r/3 2.4 +0.01 cudaLaunchKernel\n  r$r 2.5")
    trace = compile_trace(text, tmp_path / "trace")

    def zero(content):
        at, size, _, _ = damage.chunks(content)[-1]
        content[at : at + size] = bytes(size)

    assert_told(trace, damaged(trace, zero), "4 of the 5 chunks that its header counts are there", most_events=52)


def test_two_chunks_whose_calls_changed_places(tmp_path):
    text = TWO_RANKS_TO_THEIR_END.replace("0..9 every 0.1", "0..64 every 0.02").replace("+0.05", "+0.01").replace("1.06 +0.01", "1.011 +0.001")
    trace = compile_trace(text, tmp_path / "trace")

    def swap(content):
        (a, size, _, _), (b, _, _, used) = [chunk for chunk in damage.chunks(content) if chunk[2] == damage.RECORDS][:2]
        assert used >= size - 64
        content[a + 64 : a + size], content[b + 64 : b + size] = content[b + 64 : b + size], content[a + 64 : a + size]

    assert_told(trace, damaged(trace, swap), "the calls of thread 1 are not in the order of its chunks", most_events=270)


def test_a_run_of_calls_that_does_not_fit_its_time(tmp_path):
    text = "process r0 rank=0 world=1\nr0 1 +0.000001 cudaLaunchKernel count=4000000000\nr0 1.5 +0.5 cudaLaunchKernel count=1000\n"
    report = ddpscope("report", compile_trace(text, tmp_path / "trace"), "--format", "json")
    assert report.returncode == 0 and json.loads(report.stdout)["job"]["events"] == 1001


@pytest.mark.parametrize(
    "world, rank, size",
    [(0, 0, 0), (-1, 0, 2), (2**31 - 1, 0, 2), (2**31, 0, 2), (2, 0, 10**9), (2, 2**31 - 1, 2), (2, -5, -7), ("x", "y", 2)],
)
def test_absurd_ranks_and_sizes(world, rank, size, tmp_path):
    """Memory and time stay in bounds, whatever the size that is named; two processes may be the same rank."""
    text = f"""
for r in 0..1 {{
  process r$r RANK={rank} WORLD_SIZE={world}
  r$r 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank={rank if isinstance(rank, int) else 0} size={size}
  r$r 1.0 +0.1 ncclAllReduce communicator=1 count=4 datatype=f32 stream=0x7
}}
"""
    trace = compile_trace(text, tmp_path / "trace")
    for command in (["report", "--format", "json"], ["info"], ["dump"]):
        result = ddpscope(command[0], trace, *command[1:], timeout=10, before=["prlimit", f"--as={1 << 30}"])
        assert result.returncode == 0 or "error: " in result.stderr, result.stderr
        if result.returncode == 0 and command[0] == "report":
            assert json.loads(result.stdout)["findings"] == []



def test_names_that_steer_terminals(tmp_path):
    """Paths, commands and stacks with control characters, 8-bit ones, invalid UTF-8 and turned text."""
    evil = b"\x1b]0;title\x07\x9b31m\xc2\x9b\x7f\xff\xe2\x80\xae\n"
    marks = [b"PATHPATHPATHPATH", b"FUNCTIONFUNCTION", b"SOURCESOURCESOUR", b"VALUEVALUEVALUEV"]
    path, function, source, value = (mark.decode() for mark in marks)
    text = f"""
process w rank=0 world=2 MASTER_ADDR={value}
process r rank=1 world=2 MASTER_ADDR={value}
w 1 +0.1 open path=/{path} flags=wronly|creat|trunc file=1 stack="{source}.py:88 {function}"
w 1.2 +0.1 write file=1 bytes=4K next=4K
r 3 +0.1 open path=/{path} flags=rdonly file=1 stack="{source}.py:99 {function}"
r 3.2 +0.1 read file=1 bytes=4K next=4K
"""
    trace = compile_trace(text, tmp_path / "trace")
    for file in trace.glob("*.ddps"):
        content = file.read_bytes()
        for mark in marks:
            content = content.replace(mark, evil.ljust(len(mark), b"!")[: len(mark)])
        file.write_bytes(content)
    for words in (["report"], ["report", "--format", "json"], ["info"], ["dump"]):
        result = ddpscope(words[0], trace, *words[1:], text=False)
        assert words == ["info"] or b"title" in result.stdout  # which shows neither paths nor stacks
        printed = result.stdout.decode("utf-8")
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", printed), words
        if "json" in words:
            json.loads(printed)
        else:
            assert "\u202e" not in printed
