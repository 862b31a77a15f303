"""What pages link to is there, headings included, and the index has all of docs/."""
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")),
         *(page for folder in ("trace", "injector", "collector", "viewer", "standin", "reference_trainer", "tests")
           for page in sorted(ROOT.glob(f"{folder}/**/*.md")))]


def anchors(page):
    """As GitHub makes them of headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)", page.read_text(), re.M)}


def links(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_index_names_each_page():
    missing = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"} - set(links(ROOT / "docs/README.md"))
    assert not missing
