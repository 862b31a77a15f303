"""A page for each finding of the catalogue, all with the same headings, and examples that are what `ddpscope report` prints."""
import pathlib
import re
import subprocess

import ddpscope
import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"
HEADINGS = ["What it is", "How it looks in the job", "How it is judged", "What keeps it silent", "How to fix it", "Limits", "Example"]
PAGES = sorted((DOCS / "findings").glob("*.md"))
GOLDEN = re.compile(r"`(tests/golden/\S+\.txt)` with (\w+) ranks")
NUMBERS = {"two": 2, "eight": 8}


def example(page):
    return page.read_text().split("\n## Example\n")[1]


def printed(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_each_row_of_the_catalogue_has_its_page():
    rows = [line.split()[0] for line in printed(ddpscope.DDPSCOPE, "explain").splitlines()[1:]]
    assert sorted(rows) == [page.stem for page in PAGES]
    readme = (DOCS.parent / "README.md").read_text()
    assert [row for row in rows if f"[`{row}`](docs/findings/{row}.md)" not in readme] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_headings(page):
    text = page.read_text()
    assert text.startswith(f"# {page.stem}\n")
    assert re.findall(r"^#{2,} (.*)", text, re.M) == HEADINGS
    for heading, body in zip(HEADINGS, re.split(r"^## .*\n", text, flags=re.M)[1:]):
        assert body.strip(), heading


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_example_is_a_report_on_this_finding(page):
    shown = re.search(r"^```\n(.*?)^```", example(page), re.M | re.S)
    assert shown and re.match(rf"(error|warning|info): {page.stem} \(", shown[1])


@pytest.mark.parametrize("page", [page for page in PAGES if GOLDEN.search(example(page))], ids=lambda page: page.stem)
def test_the_example_of_a_golden_trace_is_printed(page, tmp_path):
    source, ranks = GOLDEN.search(example(page)).groups()
    text = tmp_path / "trace.txt"
    text.write_text(f"let W = {NUMBERS[ranks]}\n" + (DOCS.parent / source).read_text())
    printed(ddpscope.BUILD / "bin/text_trace", text, tmp_path / "trace")
    assert re.search(r"^```\n(.*?)^```", example(page), re.M | re.S)[1] in printed(ddpscope.DDPSCOPE, "report", tmp_path / "trace")
