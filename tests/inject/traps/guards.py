"""Traps as data: traps.toml says what each is, which function tries it, and what guards the injector against it."""
import pathlib
import subprocess
import tomllib

import pytest

import recording

FOLDER = pathlib.Path(__file__).parent
TABLE = tomllib.loads((FOLDER / "traps.toml").read_text())
TRAPS, SHARED = TABLE["trap"], TABLE["guard"]


class Runner:
    """Starts guests of one trap with one injector."""

    def __init__(self, folder, injector):
        self.folder, self.injector = folder, injector
        (folder / "file").write_text("not a folder")

    def __call__(self, command, preload=True, **settings):
        if not preload:
            settings["environment"] = {**settings.get("environment", {}), "LD_PRELOAD": ""}
        return recording.run(command, self.folder, self.injector, **settings)


def function_of(row):
    """The file and the function that try a trap."""
    name, function = row["program"].split("::")
    return FOLDER / name, function


def changes_of(row):
    guard = SHARED[row["guard"]] if isinstance(row["guard"], str) else row["guard"]
    return [(change["file"], change["text"], change["without"]) for change in guard["changes"]], guard["compile"]


def tests_of(module):
    """Tests of all rows whose function is in this module: the guest is unharmed and the trace tells the truth; with its
    guard taken out, the same function notices."""
    file = pathlib.Path(module["__file__"])
    rows = {name: row for name, row in TRAPS.items() if function_of(row)[0] == file}

    @pytest.mark.parametrize("name", rows)
    def test_trap(name, tmp_path):
        module[function_of(rows[name])[1]](Runner(tmp_path, recording.INJECTOR))

    @pytest.mark.parametrize("name", [name for name, row in rows.items() if "guard" in row])
    def test_guard(name, tmp_path):
        mutant = recording.build_mutant(*changes_of(rows[name]))
        with pytest.raises((AssertionError, subprocess.SubprocessError, KeyError, ValueError, IndexError)):
            module[function_of(rows[name])[1]](Runner(tmp_path, mutant))

    return test_trap, test_guard
