"""A job that failed is never "nothing found" without a word: in no format, and with --fail-on-failure in no exit code."""

import json
import xml.etree.ElementTree

import pytest
from command_line import assert_cannot_run, compile_trace, ddpscope

SAYS = "the job failed, and no finding explains it"
RANKS = """
process r0 pid=10 rank=0 world=2 UNTIL
process r1 pid=11 rank=1 world=2
r0 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=0 size=2
r1 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=1 size=2
r* 0.5 +0.001 ncclAllReduce communicator=1 count=1000 datatype=f32 stream=0x7
r* 0.6 +0.010 cudaStreamSynchronize stream=0x7
"""
RAISES = """
r1 2 +0 python_traceback exception="RuntimeError" stack="train.py:88 main"
r1 2.1 +0.001 exit status=1
r0 2.2 +0.001 exit status=0
"""
WAITS = """
r0 1.0 +0.001 ncclAllReduce communicator=1 count=1000 datatype=f32 stream=0x7
r0 1.1 inside cudaStreamSynchronize stream=0x7
r1 2 +0 python_traceback exception="RuntimeError" stack="train.py:88 main"
r1 2.1 +0.001 exit status=1
"""
AGREES = "r0 2 +0.001 exit status=75\nr1 2 +0.001 exit status=75\n"


@pytest.fixture
def trace(tmp_path):
    return lambda ends, until="": compile_trace(RANKS.replace("UNTIL", until) + ends, tmp_path / "trace")


def test_its_report_begins_with_that(trace):
    done = ddpscope("report", trace(RAISES))
    assert done.returncode == 0 and done.stdout.startswith(SAYS + "\n"), done.stdout
    assert "first failure: rank 1" in done.stdout and "nothing found" in done.stdout


def test_it_counts_where_that_is_asked_for(trace):
    assert ddpscope("report", trace(RAISES), "--fail-on-failure").returncode == 1


def test_a_finding_that_explains_it_is_enough(trace):
    done = ddpscope("report", folder := trace(WAITS, "until=40"), "--fail-on-failure", "--format", "json")
    report = json.loads(done.stdout)
    assert [finding["slug"] for finding in report["findings"]] == ["hung-collective"]
    assert report["failure"]["explained_by"] == [report["findings"][0]["id"]]
    assert done.returncode == 1 and SAYS not in ddpscope("report", folder).stdout
    assert ddpscope("report", folder, "--fail-on-failure", "--fail-on", "none").returncode == 0


def test_ranks_that_agree_to_end_have_not_failed(trace):
    done = ddpscope("report", trace(AGREES), "--fail-on-failure", "--format", "json")
    assert done.returncode == 0 and "failure" not in json.loads(done.stdout), done.stdout


def test_it_is_in_each_format(trace, tmp_path):
    folder = trace(RAISES)
    report = json.loads(ddpscope("report", folder, "--format", "json").stdout)
    assert report["failure"] == {"ranks": [1], "how": "rank 1 exited with 1 at train.py:88 main (RuntimeError)", "explained_by": []}
    for format in ("markdown", "html", "sarif"):
        assert SAYS in ddpscope("report", folder, "--format", format).stdout, format
    for format in ("markdown", "html"):
        assert "ddpscope: nothing found, but the job failed" in ddpscope("report", folder, "--format", format).stdout
    cases = xml.etree.ElementTree.fromstring(ddpscope("report", folder, "--format", "junit", "--fail-on-failure").stdout)
    [job] = cases.iterfind(".//testcase[@name='job']")
    assert job.find("failure").get("message") == SAYS and cases[0].get("failures") == "1"
    assert "name=\"job\"" not in ddpscope("report", folder, "--format", "junit").stdout
    merged = tmp_path / "job.ddpscope"
    assert ddpscope("export", folder, "--format", "merged", "-o", merged).returncode == 0
    done = ddpscope("report", merged, "--fail-on-failure")
    assert done.returncode == 1 and done.stdout.startswith(SAYS + "\n")


def test_of_a_few_findings_alone_nothing_can_be_said(trace):
    folder = trace(RAISES)
    assert SAYS not in ddpscope("report", folder, "--only", "straggler").stdout
    assert_cannot_run(ddpscope("report", folder, "--only", "straggler", "--fail-on-failure"), "only if all are looked for")
