"""Whatever a report is written as, and wherever it cannot be: one error, exit code 2, what was there before, and no half file."""

import json
import os
import re
import subprocess

import pytest
from command_line import AS_ANYBODY, DDPSCOPE, assert_cannot_run, compile_trace, ddpscope
from report_formats_test import GOLDEN

FAULTY = GOLDEN / "duplicate-checkpoint-write/speaks-one-path.txt"
SLUG = "duplicate-checkpoint-write"
REPORTS = ["text", "json", "markdown", "html", "sarif", "junit"]
FORMATS = [*REPORTS, "summary", "merged"]
WHAT = {"summary": "the summary", "merged": "the merged file"}

OWN_MOUNTS = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
needs_mounts = pytest.mark.skipif(
    subprocess.run([*OWN_MOUNTS, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode != 0,
    reason="a small file system cannot be mounted here")


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return compile_trace("let W = 2\n" + FAULTY.read_text(), tmp_path_factory.mktemp("job") / "trace")


def command(trace, format, output):
    verb = "report" if format in REPORTS else "export"
    return [verb, trace, "--format", format, "-o", output]


@pytest.mark.parametrize("format", FORMATS)
def test_where_nothing_can_be_written(trace, format, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    for output, why in ((tmp_path / "none/report", "No such file"), (tmp_path, "Is a directory"), ("", ""),
                        (locked / "report", "Permission denied"), (tmp_path / "locked/report/", ""), ("x" * 300, "File name too long")):
        before = AS_ANYBODY if output == locked / "report" else []
        done = ddpscope(*command(trace, format, output), before=before, cwd=tmp_path)
        assert_cannot_run(done, f"cannot write {WHAT.get(format, 'the report')}: {why}")
    assert [entry.name for entry in tmp_path.iterdir()] == ["locked"] and not list(locked.iterdir())


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_cannot_be_replaced_stays(trace, format, tmp_path):
    (tmp_path / "old").write_text("yesterday")
    limited = ["prlimit", "--fsize=100", "env", "--ignore-signal=XFSZ"]
    assert_cannot_run(ddpscope(*command(trace, format, tmp_path / "old"), before=limited), "File too large")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("old", "yesterday")]


@needs_mounts
@pytest.mark.parametrize("format", FORMATS)
def test_a_disk_that_is_full(trace, format, tmp_path):
    (tmp_path / "small").mkdir()
    script = """mount -t tmpfs -o size=64k tmpfs small && echo yesterday > small/old
    head -c 1M /dev/zero > small/fill 2>/dev/null
    "$@"; code=$?; (ls -A small; cat small/old) >&2; exit $code"""
    done = subprocess.run([*OWN_MOUNTS, "sh", "-c", script, "sh", DDPSCOPE, *command(trace, format, "small/old")], cwd=tmp_path,
                          capture_output=True, text=True)
    told = done.stderr.splitlines()
    assert done.returncode == 2 and re.match("error: .*small/old: cannot write ", told[0]) and "No space left" in told[0], done.stderr
    assert told[1].startswith("hint: make room there") and told[2:] == ["fill", "old", "yesterday"], done.stderr


@pytest.mark.parametrize("format", REPORTS + ["summary"])
def test_a_device_that_is_full(trace, format):
    assert_cannot_run(ddpscope(*command(trace, format, "/dev/full")), "No space left")


@pytest.mark.parametrize("format", REPORTS)
def test_standard_output_that_is_full(trace, format):
    with open("/dev/full", "w") as full:
        done = ddpscope("report", trace, "--format", format, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert_cannot_run(done, "cannot write to standard output: No space left")


@pytest.mark.parametrize("format", REPORTS)
def test_an_expired_suppression_and_a_whole_report(trace, format, tmp_path):
    (tmp_path / "suppressions").write_text(f"{SLUG} 2020-01-01 until their fix\n")
    done = ddpscope(*command(trace, format, tmp_path / "report"), "--suppress", tmp_path / "suppressions")
    assert_cannot_run(done, f"line 1: the suppression of {SLUG} has expired on 2020-01-01")
    plain = ddpscope("report", trace, "--format", format).stdout
    assert len((tmp_path / "report").read_text()) == len(plain), "the report without it"


@pytest.mark.parametrize("format", REPORTS)
@pytest.mark.parametrize("finding, code, says", [
    ({"id": "0" * 16, "slug": SLUG}, 1, ""),  # of another run: it is gone, and what is found is new
    ({"id": "0" * 16, "slug": "of-a-newer-version"}, 2, "there is no finding 'of-a-newer-version'"),
    ({"id": "0" * 15, "slug": SLUG}, 2, "'000000000000000' is not the id of a finding"),
    ({"id": 7, "slug": SLUG}, 2, "'' is not the id of a finding"),
    ("straggler", 2, "'' is not the id of a finding"),
])
def test_a_baseline_of_ids_that_nobody_knows(trace, format, finding, code, says, tmp_path):
    baseline, output = tmp_path / "baseline.json", tmp_path / "report"
    baseline.write_text(json.dumps({"schema": 1, "findings": [finding]}))
    done = ddpscope(*command(trace, format, output), "--baseline", baseline)
    assert output.exists() == (code == 1)
    if code == 2:
        assert_cannot_run(done, says)
    else:
        assert done.returncode == 1 and done.stderr == "" and SLUG in output.read_text()
