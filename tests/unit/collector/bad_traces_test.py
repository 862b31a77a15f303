"""Traces that are cut off, damaged, foreign, incomplete or hostile: each gets a result or one clear error."""

import json
import os
import random
import re
import resource
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from command_line import AS_ANYBODY, BUILD, TWO_HEALTHY_RANKS, assert_cannot_run, compile_trace, ddpscope

GOLDEN = Path(__file__).parents[2] / "golden"
VERSION_OFFSET = 8  # FileHeader (trace/format.h)


@pytest.fixture
def trace(tmp_path):
    return compile_trace(TWO_HEALTHY_RANKS, tmp_path / "trace")


def files_of(trace):
    return sorted(trace.glob("*.ddps"))


def report_of(trace, *words, **options):
    """The finished command and its report, None if it printed none."""
    result = ddpscope("report", trace, "--format", "json", *words, **options)
    return result, json.loads(result.stdout) if result.stdout else None


def unjudged(report, what):
    entries = [entry for entry in report["coverage"] if what in entry["what"]]
    assert len(entries) == 1, report["coverage"]
    return entries[0]["unjudged"]


def test_a_folder_without_traces(tmp_path):
    (tmp_path / "notes.txt").write_text("none")
    assert_cannot_run(ddpscope("report", tmp_path), "the folder holds no trace")


def test_a_folder_above_that_of_the_traces(trace):
    result = ddpscope("report", trace.parent)
    assert_cannot_run(result, "the folder holds no trace")
    assert "hint: trace below it does" in result.stderr


def test_every_length_of_a_file(trace):
    """What is cut off is an error that names the file; what is left is analysed, and accuses nobody."""
    victim = files_of(trace)[1]
    whole = victim.read_bytes()
    rng = random.Random(1)
    lengths = [*range(0, 12), 100, 4095, 4096, 4097, *sorted(rng.sample(range(4097, len(whole)), 60)), len(whole) - 1]
    for length in lengths:
        victim.write_bytes(whole[:length])
        result, report = report_of(trace)
        assert_cannot_run(result, victim.name)
        assert report["findings"] == [], length
        assert "skipped-barrier" in unjudged(report, victim.name)


def test_a_newer_version(trace):
    victim = files_of(trace)[0]
    content = bytearray(victim.read_bytes())
    struct.pack_into("<I", content, VERSION_OFFSET, 7)
    victim.write_bytes(content)
    result, report = report_of(trace)
    assert_cannot_run(result, "has format version 7, this ddpscope reads up to 1")
    assert "hint: use the ddpscope that recorded it, or a newer one" in result.stderr
    assert report["job"]["ranks"] == 1 and "skipped-barrier" in unjudged(report, victim.name)


@pytest.mark.parametrize("content", [b"x" * 5000, b"\x7fELF" + bytes(5000), b"{}"])
def test_a_file_that_is_not_ours(trace, content, tmp_path):
    foreign = trace / "foreign.ddps"
    foreign.write_bytes(content)
    output = tmp_path / "report.json"
    result = ddpscope("report", trace, "--format", "json", "-o", output)
    assert_cannot_run(result, "not a ddpscope trace file" if len(content) > 8 else "cut off inside its header")
    report = json.loads(output.read_text())
    assert report["job"]["ranks"] == 2
    unjudged(report, "foreign.ddps")
    assert_cannot_run(ddpscope("report", foreign), "foreign.ddps")


def test_a_huge_file_that_is_not_ours_is_not_read(trace):
    with open(trace / "huge.ddps", "wb") as huge:
        huge.truncate(1 << 40)
    assert_cannot_run(ddpscope("report", trace), "not a ddpscope trace file")


@pytest.mark.skipif("DDPSCOPE_SANITIZE:STRING=address" in (BUILD / "CMakeCache.txt").read_text(),
                    reason="the sanitizer itself needs more address space")  # fmt: skip
def test_a_trace_larger_than_memory(trace):
    with open(files_of(trace)[0], "r+b") as huge:
        huge.truncate(8 << 30)
    result = ddpscope("report", trace, before=["prlimit", f"--as={2 << 30}"])
    assert_cannot_run(result, "File too large")


def test_a_rank_without_a_trace(trace):
    files_of(trace)[1].unlink()
    result, report = report_of(trace)
    assert_cannot_run(result, "nothing could be judged: 1 of 2 ranks: 1")
    assert report["job"]["ranks"] == 1 and report["findings"] == []
    assert {"skipped-barrier", "hung-collective"} <= set(unjudged(report, "1 of 2 ranks: 1"))


def test_two_jobs_in_one_folder(trace, tmp_path):
    other = compile_trace(TWO_HEALTHY_RANKS.replace("0xabc", "0xdef").replace("rank=$r world", "pid=${9+r} rank=$r world"),
                          tmp_path / "other")  # fmt: skip
    for file in files_of(other):
        shutil.copy(file, trace / ("other-" + file.name))
    for command in ("report", "info", "dump"):
        result = ddpscope(command, trace)
        assert_cannot_run(result, "2 jobs that share nothing")
        assert "hint: move each job's files into a folder of its own" in result.stderr


def warnings_of(result):
    return [line for line in result.stderr.splitlines() if line.startswith("warning: ")]


def test_a_copy_of_a_file_is_no_further_process(trace):
    """A whole copy, one made while the job ran and one that is cut off: what is whole is analysed."""
    _, before = report_of(trace)
    victim = files_of(trace)[1]
    content = victim.read_bytes()
    copy = victim.with_name(victim.stem + " copy.ddps")
    shutil.copy(victim, copy)
    for command in ("report", "info", "dump"):
        result = ddpscope(command, trace)
        assert result.returncode == 0
        assert warnings_of(result) == [f"warning: {copy}: left out: a copy of {victim.name}"]
    _, after = report_of(trace)
    assert after["job"] == before["job"] and after["findings"] == before["findings"]
    assert [entry for entry in after["coverage"] if entry not in before["coverage"]] == [
        {"what": str(copy), "why": f"left out: a copy of {victim.name}", "unjudged": []}]  # fmt: skip
    for whole, cut in ((victim, copy), (copy, victim)):
        whole.write_bytes(content)
        cut.write_bytes(content[:-5000])
        result, report = report_of(trace)
        assert result.returncode == 0 and report["job"] == before["job"]
        assert warnings_of(result) == [f"warning: {cut}: left out: a copy of {whole.name}"]


def test_a_backup_of_a_folder_inside_it(trace):
    _, before = report_of(trace)
    for file in files_of(trace):
        shutil.copy(file, trace / ("backup-" + file.name))
    shutil.copytree(trace, trace / "backup.ddps")
    result, after = report_of(trace)
    assert result.returncode == 0 and after["job"] == before["job"] and after["findings"] == []
    (warning,) = warnings_of(result)
    assert "backup-" in warning.split(": left out: ")[0] and warning.endswith(" (and 1 more)")


def test_no_read_permission(trace):
    files_of(trace)[0].chmod(0)
    result, report = report_of(trace, before=AS_ANYBODY)
    assert_cannot_run(result, "cannot read the trace file: Permission denied")
    assert report["job"]["ranks"] == 1
    trace.chmod(0)
    assert_cannot_run(ddpscope("report", trace, before=AS_ANYBODY), "cannot list the folder: Permission denied")
    assert_cannot_run(ddpscope("report", trace / "x.ddps", before=AS_ANYBODY), "cannot be opened: Permission denied")
    trace.chmod(0o700)


def test_what_only_looks_like_a_trace(trace):
    (trace / "dangling.ddps").symlink_to("nowhere")
    os.mkfifo(trace / "pipe.ddps")
    (trace / "folder.ddps").mkdir()
    result, report = report_of(trace)
    assert result.returncode == 2 and report["job"]["ranks"] == 2
    assert "dangling.ddps: cannot read the trace file: No such file" in result.stderr
    assert "pipe.ddps: cannot read the trace file: it is not a regular file" in result.stderr
    assert "folder.ddps" not in result.stderr


@pytest.mark.parametrize("command", ["report", "info", "dump"])
def test_a_pipe_is_no_trace(tmp_path, command):
    """Nobody writes into it, and nobody waits for that."""
    os.mkfifo(tmp_path / "pipe")
    result = ddpscope(command, tmp_path / "pipe")
    assert result.returncode == 2 and result.stderr.startswith("error: "), result.stderr


def test_many_bad_files_are_not_many_lines(trace):
    for number in range(100):
        (trace / f"foreign{number}.ddps").write_bytes(b"x" * 5000)
    result, report = report_of(trace)
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert result.returncode == 2 and len(errors) == 9 and errors[-1] == "error: 92 more"
    assert sum("foreign" in entry["what"] for entry in report["coverage"]) == 100


def test_escapes_in_names_do_not_reach_the_terminal(trace):
    evil = trace / "\x1b[31mevil\x1b]0;title\x07.ddps"
    evil.write_bytes(b"x" * 5000)
    result = ddpscope("report", trace)
    assert_cannot_run(result, "\\x1b[31mevil")
    assert "\x1b" not in result.stdout and "\x07" not in result.stdout


def damage(content, rng):
    """Bits flipped, bytes of one place copied to another, numbers set to their limits."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 4, 30])):
        at = rng.randrange(len(content) - 8)
        kind = rng.randrange(3)
        if kind == 0:
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            content[at : at + 8] = rng.choice([bytes(8), b"\xff" * 8, struct.pack("<q", -(1 << 63)), struct.pack("<Q", rng.getrandbits(64))])
        else:
            size, source = rng.choice([8, 64, 4096]), rng.randrange(len(content))
            piece = content[source : source + size]
            content[at : at + len(piece)] = piece[: len(content) - at]
    return content


@pytest.mark.parametrize("seed", range(int(os.environ.get("DDPSCOPE_DAMAGED_TRACES", "10"))))
def test_damaged_traces_end_in_a_result_or_an_error(seed, tmp_path):
    rng = random.Random(seed)
    golden = rng.choice(sorted(GOLDEN.glob("*/*.txt")))
    text = golden.read_text()
    worlds = re.search("^#: worlds (.*)", text, re.M)[1].split()
    trace = compile_trace(f"let W = {rng.choice(worlds)}\n" + text, tmp_path / "trace")
    originals = {file: file.read_bytes() for file in files_of(trace)}
    for _ in range(10):
        for file, content in originals.items():
            file.write_bytes(damage(content, rng) if rng.random() < 0.7 else content)
        for command in ("report", "info", "dump"):
            result = ddpscope(command, trace, text=False, timeout=30)
            assert result.returncode in (0, 1, 2), (golden, command, result.stderr[-2000:])
            assert (result.returncode == 2) == (b"error: " in result.stderr)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 << 20, "2 GiB"
