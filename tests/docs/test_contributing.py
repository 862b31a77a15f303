"""The checklists name files and traps that are there."""
import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()


def test_paths_exist():
    named = {word for word in re.findall(r"`([\w.-]+/[\w./-]*)`", TEXT) if "SLUG" not in word and not word.startswith("build/")}
    layers = {word for word in named if word in ("matching/", "ordering/", "patterns/")}
    assert {word for word in named - layers if not (ROOT / word).exists()} == set()
    assert {word for word in layers if not (ROOT / "collector" / word).exists()} == set()


def test_traps_exist():
    traps = tomllib.loads((ROOT / "tests/inject/traps/traps.toml").read_text())["trap"]
    rows = re.findall(r"^\| [^|]+ \| [^|]+\? \| (.*) \|$", TEXT, re.M)
    named = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    assert len(rows) == 12 and named - set(traps) == set()
