"""A merged file of a real job: it holds every event that the trace has, and reports say the same of both."""
import re

import ddpscope
import pytest
import trainer
from merged import assert_every_call_is_there, command


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    draw = trainer.Draw(ddpscope.SEEDS[0], "merged", 2)
    trace = trainer.fault("missing-barrier", draw, folder, "--fault-delay", 1)
    merged = folder / "job.merged"
    command("export", trace, "--format", "merged", "-o", merged)
    return trace, merged


def test_it_holds_every_call(job):
    assert_every_call_is_there(*job, least=1000)


def test_steps_and_device_work_are_there(job):
    text = command("dump", job[1]).stdout
    for rank in (0, 1):
        assert len(re.findall(rf"^\S+ \S+ \S+ rank {rank} step number=\d+$", text, re.M)) >= 10
        work = rf"^\S+ \S+ \S+ rank {rank} gpu collective communicator=1 sequence=\d+ .* call=nccl\w+ thread=\d+ at=[\d.]+$"
        assert len(re.findall(work, text, re.M)) >= 20


def test_info_says_the_same_of_both(job):
    trace, merged = (command("info", path).stdout for path in job)
    assert re.search(r"^collectives +ranks .*\nall-reduce +2 ", trace, re.M), trace
    assert merged.startswith(trace + "\n"), merged


@pytest.mark.parametrize("format", ["text", "json"])
def test_reports_say_the_same_of_both(job, format):
    trace, merged = job
    assert command("report", trace, "--format", format, code=1).stdout == \
        command("report", merged, "--format", format, code=1).stdout


def test_evidence_stands_on_the_time_lines(job):
    info = command("info", job[1]).stdout
    placed, evidence = map(int, re.search(r"(\d+) of (\d+) pieces of evidence are events", info).groups())
    assert evidence >= 2 and placed == evidence, info


def test_it_takes_few_bytes(job):
    size, each, events = re.search(r"\((\d+) bytes, ([\d.]+) an event\).*\nlines +(\d+) events", command("info", job[1]).stdout).groups()
    assert int(size) == job[1].stat().st_size
    assert int(events) > 1000 and float(each) <= 40  # of so short a job much is tables; docs/merged-file.md has long ones


def test_the_same_trace_makes_the_same_bytes(job, tmp_path):
    command("export", job[0], "--format", "merged", "-o", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == job[1].read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["again"]


def test_what_cannot_be_done_is_told(job, tmp_path):
    trace, merged = job
    for words in (["export", trace, "--format", "merged", "-o", tmp_path / "none" / "file"],
                  ["export", trace, "--format", "merged", "-o", tmp_path],
                  ["export", trace, "--format", "merged", "-o", "/dev/null"],
                  ["export", merged, "--format", "merged", "-o", tmp_path / "file"],
                  ["export", tmp_path / "none", "--format", "merged", "-o", tmp_path / "file"],
                  ["report", merged, "--only", "straggler"],
                  ["info", merged, "--attempt", "0"]):
        done = command(*words, code=2)
        assert re.match(r"error: .+\n", done.stderr) and "hint:" in done.stderr, done.stderr
    cut = tmp_path / "cut"
    cut.write_bytes(merged.read_bytes()[:-1000])
    for name in ("report", "info", "dump"):
        assert "cut off" in command(name, cut, code=2).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut"]
