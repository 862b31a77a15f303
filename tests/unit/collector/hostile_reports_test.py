"""Traces whose every name is an attack, in every format: what a report is made of stays what it is, and all of it is valid.

A job is reported twice, with plain names and with hostile ones of the same length: both reports must have the same
structure, element by element.
"""

import html.parser
import json
import os
import re
import shutil
import subprocess

import pytest
from command_line import DDPSCOPE, compile_trace, ddpscope
from report_formats_test import schema

HOSTILE = {
    "terminal": b"\x1b]0;title\x07\x9b31m\xc2\x9b\x7f\xff\xe2\x80\xae\xe2\x81\xa6\r\n\t",
    "html": b"</td></pre><script>alert(1)</script>&lt;'",
    "xml": b"]]>\x01\x0b\xef\xbf\xbe\xef\xbf\xbf<!-- <?x &e;",
    "json": b'",\n"id": 1}]\\u0000\\',
    "markdown": b"\n\n# x\n|a|`b`@all [y](z) ~~_* www.x.org",
    "bytes": b"\xff\xfe\xc0\x80\xed\xa0\x80\xf5\xf4\x90\x80\x80",
}
PLACES = ["PATH", "FUNCTION", "SOURCE", "VALUE", "HOST", "RANGE"]
MARKS = {place: (place * 42)[:42] for place in PLACES}
CONTROLS = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"


def text_of(marks):
    return f"""
host {marks['HOST']}
for r in 0..1 {{
  process r$r host={marks['HOST']} rank=$r world=2 MASTER_ADDR={marks['VALUE']}
  r$r 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r
  r$r 0.3 +0.1 nvtxRangePush name={marks['RANGE']}
  r$r 0.5 +0.0 nvtxRangePop
  r$r ${{1+r}} +0.1 open path=/{marks['PATH']} flags=wronly|creat|trunc file=1 stack="{marks['SOURCE']}.py:88 {marks['FUNCTION']}"
  r$r ${{1+r}}.2 +0.1 write file=1 bytes=4K next=4K
}}
"""


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    return compile_trace(text_of(MARKS), tmp_path_factory.mktemp("plain") / "trace")


@pytest.fixture(params=HOSTILE)
def traces(request, plain, tmp_path):
    """The plain trace, and the one with hostile names, which are as long."""
    folder = tmp_path / "trace"
    folder.mkdir()
    seen = set()
    for number, file in enumerate(sorted(plain.glob("*.ddps"))):
        content = file.read_bytes()
        for place, mark in MARKS.items():
            seen |= {place} if mark.encode() in content else set()
            content = content.replace(mark.encode(), HOSTILE[request.param].ljust(42, b"!")[:42])
        (folder / f"{number}.ddps").write_bytes(content)
    assert seen == set(PLACES)
    return plain, folder


def reported(trace, *options):
    done = ddpscope("report", trace, *options, text=False)
    assert done.returncode == 1, done.stderr
    return done.stdout.decode()  # which is UTF-8


def assert_no_controls(text):
    assert not re.search(CONTROLS, text), re.search(f".{{0,30}}{CONTROLS}.{{0,30}}", text)[0]


def shape(value):
    """A JSON document without its texts and numbers."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else type(value).__name__


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, [name for name, _ in attributes]))

    def handle_comment(self, data):
        self.found.append(("comment",))


def test_text(traces):
    for words in (["report"], ["info"], ["dump"], ["status"]):
        done = ddpscope(words[0], traces[1], text=False)
        assert done.returncode == (1 if words == ["report"] else 0), done.stderr
        assert_no_controls(done.stdout.decode())
    labels = "^(?:error|warning|info|what|  (?:ranks|files|when|order|cost|causes|known|fix|more) {2}| {7}at | {4}[0-9]\\. )"
    heads = [re.findall(labels, reported(trace), re.M) for trace in traces]
    assert heads[0] == heads[1]


@pytest.mark.parametrize("format", ["json", "sarif"])
def test_json(traces, format):
    plain, hostile = (reported(trace, "--format", format) for trace in traces)
    assert shape(json.loads(plain)) == shape(json.loads(hostile))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", hostile)
    if format == "sarif":
        import jsonschema
        jsonschema.validate(json.loads(hostile), json.loads(schema("sarif-schema-2.1.0.json").read_text()))


def test_junit(traces, tmp_path):
    structure = []
    for trace in traces:
        file = tmp_path / "report.xml"
        assert ddpscope("report", trace, "--format", "junit", "-o", file).returncode == 1
        checked = subprocess.run(["xmllint", "--noout", "--schema", schema("junit-10.xsd"), file], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
        structure.append(Tags(file.read_text()).found)
        assert_no_controls(file.read_text())
    assert structure[0] == structure[1]


def test_markdown(traces):
    pages = []
    for trace in traces:
        markdown = reported(trace, "--format", "markdown")
        assert_no_controls(markdown)
        pages.append(subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough", "-e", "autolink"],
                                    input=markdown, capture_output=True, text=True, check=True).stdout)
    plain, hostile = (Tags(page).found for page in pages)
    assert plain == [tag for tag in hostile if tag[0] != "comment"]  # which keep an @ from mentioning somebody


def test_html(traces, tmp_path):
    alone = shutil.copy(DDPSCOPE, tmp_path / "ddpscope")  # without the viewer, whose pictures are no text
    pages = []
    for trace in traces:
        done = subprocess.run([alone, "report", trace, "--format", "html"], capture_output=True)
        assert done.returncode == 1, done.stderr
        pages.append(done.stdout.decode())
        assert_no_controls(re.sub("<style>.*?</style>|<script>.*?</script>", "", pages[-1], flags=re.S))
    assert Tags(pages[0]).found == Tags(pages[1]).found


def test_summary_and_diff(traces, tmp_path):
    files = []
    for number, trace in enumerate(traces):
        files.append(tmp_path / f"{number}.json")
        assert ddpscope("export", trace, "--format", "summary", "-o", files[-1]).returncode == 0
    assert shape(json.loads(files[0].read_text())) == shape(json.loads(files[1].read_text()))
    told = ddpscope("diff", *files, text=False)
    assert told.returncode in (0, 1), told.stderr
    assert_no_controls(told.stdout.decode())
    json.loads(ddpscope("diff", *files, "--format", "json").stdout)


def test_merged(traces, tmp_path):
    file = tmp_path / "merged"
    assert ddpscope("export", traces[1], "--format", "merged", "-o", file).returncode == 0
    for format in ("text", "json", "sarif", "junit", "markdown"):
        assert reported(file, "--format", format) == reported(traces[1], "--format", format)
    for command in ("info", "dump"):
        assert_no_controls(ddpscope(command, file, text=False).stdout.decode())


@pytest.mark.parametrize("format", ["text", "json", "sarif", "junit", "markdown", "html"])
def test_a_trace_and_an_output_of_a_hostile_name(traces, format, tmp_path):
    names = [os.fsdecode(bytes(tmp_path) + b"/" + HOSTILE["terminal"] + end) for end in (b"trace", b"merged", b"report")]
    shutil.copytree(traces[1], names[0])
    for words, code in ((["export", names[0], "--format", "merged", "-o", names[1]], 0),
                        (["report", names[1], "--format", format, "-o", names[2]], 1)):
        done = subprocess.run([DDPSCOPE, *words], capture_output=True)
        assert done.returncode == code, done.stderr
        assert_no_controls(done.stderr.decode())
    assert open(names[2], "rb").read().decode()
