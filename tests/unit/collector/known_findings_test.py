"""`report --baseline` and `--suppress`: what is known is told, and fails no gate."""

import datetime
import json
import os
import threading

import pytest
from command_line import assert_cannot_run, compile_trace, ddpscope
from report_formats_test import GOLDEN, assert_junit, assert_sarif, golden_trace

FAULTY = GOLDEN / "duplicate-checkpoint-write/speaks-one-path.txt"
SLUG = "duplicate-checkpoint-write"


@pytest.fixture
def trace(tmp_path):
    return compile_trace("let W = 2\n" + FAULTY.read_text(), tmp_path / "trace")


@pytest.fixture
def baseline(trace, tmp_path):
    file = tmp_path / "baseline.json"
    assert ddpscope("report", trace, "--format", "json", "-o", file).returncode == 1
    return file


def findings_of(file):
    return json.loads(file.read_text())["findings"]


def suppress(folder, line):
    file = folder / "suppressions"
    file.write_text(line + "\n")
    return file


def day(offset):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=offset)).date().isoformat()


def test_what_the_baseline_has_is_told_and_fails_nothing(trace, baseline, tmp_path):
    done = ddpscope("report", trace, "--baseline", baseline)
    assert done.returncode == 0 and "known     in the baseline" in done.stdout and done.stderr == ""
    (finding,) = json.loads(ddpscope("report", trace, "--baseline", baseline, "--format", "json").stdout)["findings"]
    assert finding["known_by"] == "baseline"
    assert assert_sarif(trace, "--baseline", baseline)["results"][0]["baselineState"] == "unchanged"
    assert "<failure" not in assert_junit(trace, tmp_path, "--baseline", baseline)
    assert "1 known" in ddpscope("report", trace, "--baseline", baseline, "--format", "markdown").stdout.splitlines()[0]


def test_what_is_new_fails(trace, tmp_path):
    empty = tmp_path / "empty.json"
    empty.write_text('{"schema": 1, "findings": []}')
    assert ddpscope("report", trace, "--baseline", empty).returncode == 1
    assert assert_sarif(trace, "--baseline", empty)["results"][0]["baselineState"] == "new"


@pytest.mark.parametrize("make", [["report", "--fail-on", "none", "--format", "json"], ["export", "--format", "summary"]],
                         ids=["report", "summary"])
def test_what_got_worse_is_not_known(tmp_path, make):
    """The barriers between the ranks' writes are taken away: the same bug, by its id, and an error instead of a warning."""
    ordered = golden_trace(FAULTY.with_name("speaks-in-turn.txt"), tmp_path / "ordered")
    unordered = golden_trace(FAULTY.with_name("speaks-rename-target.txt"), tmp_path / "unordered")
    warning, error = tmp_path / "warning.json", tmp_path / "error.json"
    for trace, file in (ordered, warning), (unordered, error):
        assert ddpscope(make[0], trace, *make[1:], "-o", file).returncode == 0
    assert findings_of(warning)[0]["id"] == findings_of(error)[0]["id"]

    done = ddpscope("report", unordered, "--baseline", warning, "--fail-on", "error")
    assert done.returncode == 1 and "new       worse than in the baseline: a warning there" in done.stdout
    assert "known" not in done.stdout and "gone since" not in done.stdout and done.stderr == ""
    (finding,) = json.loads(ddpscope("report", unordered, "--baseline", warning, "--format", "json").stdout)["findings"]
    assert finding["worse_than_baseline"] == "warning" and "known_by" not in finding
    (result,) = assert_sarif(unordered, "--baseline", warning)["results"]
    assert result["baselineState"] == "updated" and result["properties"]["worse_than_baseline"] == "warning"
    failed = assert_junit(unordered, tmp_path, "--baseline", warning)
    assert "<failure" in failed and "worse than in the baseline" in failed
    for format in "markdown", "html":
        page = ddpscope("report", unordered, "--baseline", warning, "--format", format).stdout
        assert "worse than in the baseline: a warning there" in page and "1 known" not in page

    for trace in ordered, unordered:
        done = ddpscope("report", trace, "--baseline", error, "--fail-on", "info")
        assert done.returncode == 0 and "known     in the baseline" in done.stdout


def test_what_is_gone_is_told(trace, baseline, tmp_path):
    healthy = compile_trace("process p rank=0 world=2 until=2\nprocess q rank=1 world=2 until=2\n"
                            "p 1.0 +0.1 stat path=a\nq 1.0 +0.1 stat path=a\n", tmp_path / "healthy")
    done = ddpscope("report", healthy, "--baseline", baseline)
    assert done.returncode == 0 and f"gone since the baseline: {SLUG} (finding " in done.stdout


def test_a_baseline_comes_through_a_pipe(trace, baseline, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(baseline.read_text()))
    writer.start()
    assert ddpscope("report", trace, "--baseline", pipe).returncode == 0
    writer.join()


@pytest.mark.parametrize("arguments", [["report", "--baseline"], ["report", "--suppress"], ["diff"]], ids=" ".join)
def test_a_pipe_that_nobody_writes_to_holds_nothing_up(trace, arguments, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command, *option = arguments
    done = ddpscope(command, trace, *option, pipe)
    assert done.returncode == 2 and "cannot read it: no process writes to this pipe" in done.stderr


@pytest.mark.parametrize("line, code", [(f"{SLUG} never known", 0), (f"{SLUG} {day(1)} until their fix", 0)])
def test_what_is_suppressed_is_told_and_fails_nothing(trace, tmp_path, line, code):
    file = suppress(tmp_path, line)
    done = ddpscope("report", trace, "--suppress", file)
    assert done.returncode == code and "known     suppressed " in done.stdout and done.stderr == ""
    result = assert_sarif(trace, "--suppress", file)["results"][0]
    assert result["suppressions"][0]["justification"].endswith(line.split(maxsplit=2)[2])
    assert "<failure" not in assert_junit(trace, tmp_path, "--suppress", file)


def test_what_has_expired_is_an_error_and_the_report_is_whole(trace, tmp_path):
    done = ddpscope("report", trace, "--suppress", suppress(tmp_path, f"{SLUG} {day(-2)} until their fix"))
    assert_cannot_run(done, f"line 1: the suppression of {SLUG} has expired on {day(-2)}")
    assert f"error: {SLUG} (certain)" in done.stdout and "known " not in done.stdout


def test_one_that_matches_nothing_is_a_warning(trace, tmp_path):
    done = ddpscope("report", trace, "--suppress", suppress(tmp_path, "uneven-steps never known"))
    assert done.returncode == 1 and "warning: " in done.stderr and "line 1: uneven-steps was not found" in done.stderr


def test_the_mark_of_an_editor_is_no_part_of_a_file(trace, baseline, tmp_path):
    marked = tmp_path / "marked"
    for option, text in ("--suppress", f"{SLUG} never known\r\n"), ("--baseline", baseline.read_text()):
        marked.write_text(text, encoding="utf-8-sig", newline="")
        done = ddpscope("report", trace, option, marked)
        assert done.returncode == 0 and done.stderr == "" and "known     " in done.stdout, option
    assert ddpscope("diff", marked, trace).returncode == 0
    marked.write_text("straggler someday why", encoding="utf-8-sig")
    assert_cannot_run(ddpscope("report", trace, "--suppress", marked), "line 1: 'someday' is no day")


@pytest.mark.parametrize("option, text, says", [
    ("--baseline", "no JSON", "it is not JSON"),
    ("--baseline", '{"schema": 1, "findings": [{"id": "zz", "slug": "straggler"}]}', "'zz' is not the id of a finding"),
    ("--suppress", "no-such-finding never why", "line 1: 'no-such-finding' is neither"),
    ("--suppress", "straggler someday why", "line 1: 'someday' is no day"),
    ("--suppress", "\x1b[31m never why", "\\x1b[31m"),
])
def test_mistakes_are_told_before_anything_is_analysed(trace, tmp_path, option, text, says):
    file = tmp_path / "file"
    file.write_text(text)
    done = ddpscope("report", trace, option, file)
    assert_cannot_run(done, says)
    assert done.stdout == ""


@pytest.mark.parametrize("option", ["--baseline", "--suppress"])
def test_what_cannot_be_read_is_told(trace, tmp_path, option):
    assert_cannot_run(ddpscope("report", trace, option, tmp_path / "none"), "No such file")
    assert_cannot_run(ddpscope("report", trace, option, tmp_path), "Is a directory")
