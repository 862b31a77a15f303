"""The README's table of findings is that of the catalogue, collector/findings/findings.def, and true of what jobs without NCCL show."""
import json
import re

import committed
import ddpscope
import pages
import pytest

GOLDEN = pages.ROOT / "tests/golden"
WORKS_ON = {"NCCL", "NCCL, Gloo", "NCCL, Gloo, MPI", "NCCL, less on Gloo", "any", "any, less on MPI", "NCCL, Gloo (there from files only)"}


def printed_table():
    return ddpscope.start([ddpscope.DDPSCOPE, "manual", "findings"], pages.ROOT).stdout


def works_on():
    """{slug: whose collectives the ranks may run}"""
    rows = [row.strip("| ").split(" | ") for row in printed_table().splitlines()[2:]]
    return {re.search(r"`(.*)`", row[0])[1]: row[3] for row in rows}


def test_the_table_is_made_of_the_catalogue():
    table = printed_table()
    page = pages.ROOT / "README.md"
    stands = re.search(r"^\| finding \|.*\n(?:\|.*\n)+", page.read_text(), re.M)[0]
    if committed.RENEW:
        page.write_text(page.read_text().replace(stands, table))
    else:
        assert stands == table, committed.HOW


def test_explain_lists_the_same():
    head, *lines = ddpscope.start([ddpscope.DDPSCOPE, "explain"], pages.ROOT).stdout.splitlines()
    columns = [head.index(name) for name in ("FINDING", "SEVERITY", "WORKS ON", "IN ONE")]
    listed = {line.split()[0]: [line[a:b].strip() for a, b in zip(columns[1:], [*columns[2:], None])] for line in lines}
    rows = [row.strip("| ").split(" | ") for row in printed_table().splitlines()[2:]]
    assert listed == {re.search(r"`(.*)`", row[0])[1]: [row[2].split(",")[0], row[3], row[1]] for row in rows}


def without_nccl(source, folder):
    """The report on a golden trace, if no call of NCCL is in it."""
    text = source.read_text()
    if re.search(r"\bnccl[A-Z]", re.sub(r"^#.*", "", text, flags=re.M)):
        return None
    worlds = re.search(r"^#: worlds (\d+)", text, re.M)
    lines = folder / f"{source.parent.name}-{source.stem}.txt"
    lines.write_text((f"let W = {worlds[1]}\n" if worlds else "") + text)
    trace = lines.with_suffix("")
    made = ddpscope.start([ddpscope.BUILD / "bin/text_trace", lines, trace], folder)
    assert made.code == 0, made.stderr
    return json.loads(ddpscope.start([ddpscope.DDPSCOPE, "report", trace, "--format", "json"], folder).stdout)


@pytest.fixture(scope="module")
def reports_without_nccl(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    reports = [without_nccl(source, folder) for source in sorted(GOLDEN.glob("*/speaks-*.txt"))]
    return [report for report in reports if report]


def test_what_works_without_nccl_is_found_without_it(reports_without_nccl):
    found = {finding["slug"] for report in reports_without_nccl for finding in report["findings"]}
    assert set(works_on().values()) <= WORKS_ON
    assert {slug for slug, on in works_on().items() if on != "NCCL"} == found


def test_what_coverage_leaves_unjudged_without_nccl_needs_it(reports_without_nccl):
    """What works on Gloo does so by PyTorch's calls, or by TCP, where these show; ineffective-barrier is told as missing-barrier where
    no barrier is seen."""
    unjudged = {slug for report in reports_without_nccl for row in report["coverage"] if row["what"] == "collectives"
                for slug in row["unjudged"]}
    on_gloo = {slug for slug, on in works_on().items() if "Gloo" in on}
    assert unjudged - on_gloo == {slug for slug, on in works_on().items() if on == "NCCL"} - {"ineffective-barrier"}
