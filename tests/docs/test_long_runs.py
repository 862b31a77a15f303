"""What README.md says of the long run with PyTorch 2 is what docs/long-runs.md has of it."""
import re

from pages import ROOT


def test_the_readme_says_how_the_last_one_with_pytorch_2_ended():
    claim = re.search(r"The last long run of the same tests with PyTorch ([\d.]+) (\w+)", " ".join((ROOT / "README.md").read_text().split()))
    result = re.search(r"^\| torch2 \| (\w+) \|", (ROOT / "docs/long-runs.md").read_text(), re.M)
    version = re.search(r"torch2_wheels=\(torch==([\d.]+?)(\.0)? ", (ROOT / "tests/long.sh").read_text())
    assert claim.groups() == (version[1], result[1].lower())
