"""Traces, merged files, summaries and reports of earlier versions: this version reads them, and finds the same."""
import json
import pathlib
import subprocess
import tarfile

import ddpscope
import pytest

FOLDER = pathlib.Path(__file__).parent
VERSIONS = sorted(archive.parent.name for archive in FOLDER.glob("*/jobs.tar.xz"))
assert VERSIONS, "no version is kept"
JOBS = {"two-ranks": "duplicate-checkpoint-write", "skipped": "skipped-barrier"}

pytestmark = [pytest.mark.parametrize("version", VERSIONS), pytest.mark.parametrize("job", JOBS)]


@pytest.fixture
def kept(version, job, tmp_path):
    with tarfile.open(FOLDER / version / "jobs.tar.xz") as archive:
        archive.extractall(tmp_path)
    return tmp_path / job


def run(*words, code=0):
    done = subprocess.run([ddpscope.DDPSCOPE, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def found(report):
    return [{key: finding[key] for key in ("id", "slug", "severity", "confidence", "ranks", "files", "count", "cost", "title")}
            for finding in report["findings"]]


def test_a_trace_says_the_same(kept, job):
    before = json.loads((kept / "report.json").read_text())
    now = json.loads(run("report", kept / "trace", "--format", "json", "--fail-on", "none"))
    assert [finding["slug"] for finding in found(before)] == [JOBS[job]]
    assert found(now) == found(before) and now["schema"] == before["schema"]
    assert now["job"]["ranks"] == before["job"]["ranks"] and now["job"]["dropped"] == 0


def test_a_merged_file_is_read(kept, job):
    now = json.loads(run("report", kept / "merged.ddpm", "--format", "json", "--fail-on", "none"))
    assert [finding["slug"] for finding in now["findings"]] == [JOBS[job]]


def test_a_summary_is_compared(kept):
    run("diff", kept / "summary.json", kept / "trace")


def test_a_report_is_a_baseline(kept):
    run("report", kept / "trace", "--baseline", kept / "report.json", "--fail-on", "info")
    run("report", kept / "trace", "--fail-on", "info", code=1)
