"""The CPython interpreters found here: those linked with libpython ("shared") and those that have it inside ("static"),
among them ones linked here from libpython.a, as distributions do."""
import functools
import json
import os
import pathlib
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field

import pytest

from recording import BUILD

VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]
KINDS = ["shared", "static"]
ASK = """import ctypes, json, sys, sysconfig
name = lambda key: sysconfig.get_config_var(key) or ""
print(json.dumps({"path": sys.executable, "prefix": sys.prefix, "include": sysconfig.get_path("include"),
    "shared": "libpython" in open("/proc/self/maps").read(), "library": name("LIBPL") + "/" + name("LIBRARY"),
    "main": name("LIBPL") + "/python.o", "flags": " ".join(map(name, ["LINKFORSHARED", "MODLIBS", "LIBS", "SYSLIBS"])),
    "free_threaded": bool(name("Py_GIL_DISABLED")), "debug": hasattr(sys, "gettotalrefcount")}))"""


@dataclass
class Interpreter:
    facts: dict
    environment: dict = field(default_factory=dict)

    @property
    def path(self):
        return self.facts["path"]


def ask(path):
    answer = subprocess.run([path, "-c", ASK], capture_output=True, text=True)
    return Interpreter(json.loads(answer.stdout)) if answer.returncode == 0 else None


@functools.cache
def installed(name):
    """Every interpreter of that name, on PATH or made by pyenv."""
    folders = [*os.environ["PATH"].split(":"), "/usr/bin", *map(str, pathlib.Path.home().glob(".pyenv/versions/*/bin"))]
    found = filter(None, (ask(path) for path in dict.fromkeys(shutil.which(name, path=folder) for folder in folders) if path))
    return list({os.path.realpath(interpreter.path): interpreter for interpreter in found}.values())


def ordinary(version):
    return [each for each in installed(f"python{version}") if not each.facts["free_threaded"] and not each.facts["debug"]]


def link(version, facts):
    """An interpreter that has Python inside, from the archive that another one came with."""
    made = BUILD / "interpreters" / f"python{version}"
    if not made.exists() or made.stat().st_mtime < os.path.getmtime(facts["library"]):
        made.parent.mkdir(exist_ok=True)
        whole = ["-Wl,--whole-archive", facts["library"], "-Wl,--no-whole-archive"]
        subprocess.run(["cc", "-o", made, facts["main"], *whole, *shlex.split(facts["flags"])], check=True)
    return Interpreter({**facts, "path": str(made), "shared": False}, {"PYTHONHOME": facts["prefix"]})


@functools.cache
def find(version, kind):
    here = ordinary(version)
    for interpreter in here:
        if interpreter.facts["shared"] == (kind == "shared"):
            return interpreter
    for interpreter in here:
        if kind == "static" and all(map(os.path.isfile, [interpreter.facts["library"], interpreter.facts["main"]])):
            return link(version, interpreter.facts)
    return pytest.skip(f"no {kind} CPython {version} here")
