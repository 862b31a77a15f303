"""`report --format` for other programs, against what checks them: OASIS' schema of SARIF, Jenkins' of JUnit, GitHub's Markdown."""

import html
import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest
from command_line import TWO_HEALTHY_RANKS, compile_trace, ddpscope

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden"

# Each kind of finding once, as it is met in a golden job that names it, and one healthy job.
SPEAKING = sorted(GOLDEN.glob("*/speaks-*.txt"))[::7]

HOSTILE = "a<b>&'`|@all]]>*_x_~[y](z):smile:"  # a file's name


def schema(name):
    path = ROOT / ".venv/schemas" / name
    if not path.exists():
        pytest.fail(f"{name} is missing: cmake/install_dependencies.sh gets it", pytrace=False)
    return path


def golden_trace(path, folder, replace=("", "")):
    text = path.read_text()
    worlds = re.search(r"^#: worlds (\d+)", text, re.M)
    return compile_trace(f"let W = {worlds[1] if worlds else 2}\n" + text.replace(*replace), folder)


@pytest.fixture(params=SPEAKING, ids=lambda path: f"{path.parent.name}/{path.stem}")
def speaking(request, tmp_path):
    return golden_trace(request.param, tmp_path / "trace")


@pytest.fixture
def healthy(tmp_path):
    return compile_trace(TWO_HEALTHY_RANKS, tmp_path / "trace")


def assert_sarif(trace, *options):
    log = json.loads(ddpscope("report", trace, "--format", "sarif", *options).stdout)
    jsonschema.validate(log, json.loads(schema("sarif-schema-2.1.0.json").read_text()))
    return log["runs"][0]


def assert_junit(trace, folder, *options):
    file = folder / "report.xml"
    done = ddpscope("report", trace, "--format", "junit", "-o", file, *options)
    assert done.returncode in (0, 1), done.stderr
    subprocess.run(["xmllint", "--noout", "--schema", schema("junit-10.xsd"), file], check=True, capture_output=True)
    return file.read_text()


def test_sarif_is_valid(speaking):
    report = json.loads(ddpscope("report", speaking, "--format", "json").stdout)
    results = assert_sarif(speaking)["results"]
    assert [result["ruleId"] for result in results] == [finding["slug"] for finding in report["findings"]] != []


def test_junit_is_valid(speaking, tmp_path):
    assert "<failure" in assert_junit(speaking, tmp_path) or ddpscope("report", speaking).returncode == 0


def test_a_healthy_job_is_valid(healthy, tmp_path):
    assert assert_sarif(healthy)["results"] == []
    assert "<failure" not in assert_junit(healthy, tmp_path)
    assert ddpscope("report", healthy, "--format", "markdown").stdout.startswith("## ddpscope: nothing found\n")


def test_markdown_shows_every_character_as_it_is(tmp_path):
    """A path that would be markup, HTML, a table's end or a mention: what is rendered is what `text` says."""
    job = GOLDEN / "duplicate-checkpoint-write/speaks-one-path.txt"
    trace = golden_trace(job, tmp_path / "trace", ("io.py", f"{HOSTILE}.py"))
    (finding,) = json.loads(ddpscope("report", trace, "--format", "json").stdout)["findings"]
    markdown = ddpscope("report", trace, "--format", "markdown").stdout
    page = subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough", "-e", "autolink"], input=markdown,
                          capture_output=True, text=True, check=True).stdout
    assert "@all" not in re.sub("<pre>.*?</pre>|<code.*?</code>", "", page, flags=re.S), "nobody is mentioned"
    shown = html.unescape(re.sub("<!--.*?-->|<[^>]*>", "", page))
    assert HOSTILE in finding["title"] and finding["title"] in shown
    assert "<b>" not in page
