"""`report --format html` as a browser sees it: headless Chromium reads the page, runs its script, and says what became of it."""

import html
import re
import shutil
import subprocess

import pytest
from command_line import BUILD, DDPSCOPE, TWO_HEALTHY_RANKS, compile_trace, ddpscope
from report_formats_test import GOLDEN, golden_trace

JOB = GOLDEN / "duplicate-checkpoint-write/speaks-one-path.txt"
HOSTILE = "<img/src=x/onerror=document.title=1>'`</td></script><script>document.title=2</script>&lt;"

needs_viewer = pytest.mark.skipif(not (BUILD / "bin/ddpscope-viewer").exists(), reason="the viewer was not built")


@pytest.fixture
def trace(tmp_path):
    return golden_trace(JOB, tmp_path / "trace")


def write(trace, folder, program=DDPSCOPE):
    page = folder / "report.html"
    done = subprocess.run([program, "report", trace, "--format", "html", "-o", page], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return page


def dom(page, folder):
    """The page after its scripts have run."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        pytest.fail("there is no chromium: cmake/install_dependencies.sh installs it", pytrace=False)
    return subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
                           "--dump-dom", page.as_uri()], capture_output=True, text=True, check=True, timeout=120).stdout


def text_of(markup):
    return html.unescape(re.sub("<[^>]*>", "", markup))


@needs_viewer
def test_it_opens_in_a_browser_with_everything_in_it(trace, tmp_path):
    page = dom(write(trace, tmp_path), tmp_path)
    assert "<title>ddpscope: 1 error</title>" in page
    assert len(re.findall('<img [^>]*src="data:image/png;base64,iVBOR', page)) == 1
    assert not re.search("(src|href)=\"(?!data:|#)", page), "nothing is loaded from elsewhere"
    for part in ("ranks 0 and 1 all write the same file", "train.py:40 save", "Let one rank write", "What this trace cannot show"):
        assert part in text_of(page), part


def test_what_an_advice_quotes_is_code(trace, tmp_path):
    page = write(trace, tmp_path).read_text()
    assert "Let one rank write: <code>if rank == 0: save(...)</code>, to a temporary name" in page


def test_nothing_of_a_trace_is_markup(tmp_path):
    trace = golden_trace(JOB, tmp_path / "trace", ("io.py", f"{HOSTILE}.py"))
    page = dom(write(trace, tmp_path), tmp_path)
    assert "<title>ddpscope: 1 error</title>" in page
    assert HOSTILE in text_of(page)
    assert len(re.findall("<script", page)) == 1 and "onerror=" not in "".join(re.findall("<[^>]*>", page))


@pytest.mark.parametrize("wanted, shown", [("SAME FILE", 1), ("checkpoint", 1), ("no such thing", 0)])
def test_the_table_is_searched(trace, tmp_path, wanted, shown):
    page = write(trace, tmp_path)
    typed = f"""<script>var f = document.querySelector('[data-table=findings]'); f.value = '{wanted}';
    f.dispatchEvent(new Event('input'));</script></body>"""
    page.write_text(page.read_text().replace("</body>", typed))
    rows = re.search('<table id="findings">.*?<tbody>(.*?)</tbody>', dom(page, tmp_path), re.S)[1]
    assert len(re.findall("<tr>", rows)) == shown and len(re.findall('<tr hidden', rows)) == 1 - shown


def test_without_the_viewer_a_line_says_so(trace, tmp_path):
    alone = tmp_path / "ddpscope"
    shutil.copy(DDPSCOPE, alone)
    page = write(trace, tmp_path, alone).read_text()
    assert "No picture: the viewer is not installed" in page and "<img" not in page


def test_a_healthy_job(tmp_path):
    page = write(compile_trace(TWO_HEALTHY_RANKS, tmp_path / "trace"), tmp_path).read_text()
    assert "<h1>ddpscope: nothing found</h1>" in page and "What this trace cannot show" in page


def test_a_page_that_cannot_be_written_leaves_the_old_one(trace, tmp_path):
    kept = tmp_path / "none" / "report.html"
    done = ddpscope("report", trace, "--format", "html", "-o", kept)
    assert done.returncode == 2 and not kept.parent.exists()
