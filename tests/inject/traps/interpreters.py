"""The CPython interpreters found here: those linked with libpython ("shared") and those that have it inside ("static"),
among them ones linked here from libpython.a, and those of other releases of Debian that tests/interpreters.sh unpacked."""
import functools
import json
import os
import pathlib
import shlex
import shutil
import subprocess
from dataclasses import dataclass

import pytest

from recording import BUILD, TRAPS

VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
KINDS = ["shared", "static"]
FOLDER = BUILD / "interpreters"
ASK = """import ctypes, json, sys, sysconfig
name = lambda key: sysconfig.get_config_var(key) or ""
print(json.dumps({"path": sys.executable, "prefix": sys.prefix, "include": sysconfig.get_path("include"),
    "shared": "libpython" in open("/proc/self/maps").read(), "library": name("LIBPL") + "/" + name("LIBRARY"),
    "main": name("LIBPL") + "/python.o", "flags": " ".join(map(name, ["LINKFORSHARED", "MODLIBS", "LIBS", "SYSLIBS"])),
    "free_threaded": bool(name("Py_GIL_DISABLED")), "debug": hasattr(sys, "gettotalrefcount")}))"""


@dataclass
class Interpreter:
    command: list
    environment: dict
    facts: dict


def ask(command, **environment):
    answer = subprocess.run([*command, "-c", ASK], capture_output=True, text=True, env={**os.environ, **environment})
    return [Interpreter(command, environment, json.loads(answer.stdout))] if answer.returncode == 0 else []


def unpacked(name):
    """Another release's, with the libraries that it came with; with its loader, if it came with that."""
    root = FOLDER / name.replace("python", "debian-") / "usr"
    path, loader = root / "bin" / name, root / "lib64" / "ld-linux-x86-64.so.2"
    libraries = f"{root / 'lib/x86_64-linux-gnu'}:{TRAPS}"
    if not path.exists():
        return []
    home = {"PYTHONHOME": str(root)}
    if loader.exists():
        return ask([str(loader), "--library-path", libraries, str(path)], **home)
    return ask([str(path)], **home, LD_LIBRARY_PATH=libraries)


@functools.cache
def installed(name):
    """Every interpreter of that name: on PATH, made by pyenv, or below FOLDER."""
    folders = [*os.environ["PATH"].split(":"), "/usr/bin", *map(str, pathlib.Path.home().glob(".pyenv/versions/*/bin")),
               str(FOLDER / "free-threaded")]
    paths = filter(None, (shutil.which(name, path=folder) for folder in folders))
    found = [each for path in dict.fromkeys(paths) for each in ask([path])]
    return [*{os.path.realpath(each.facts["path"]): each for each in found}.values(), *unpacked(name)]


def ordinary(version):
    return [each for each in installed(f"python{version}") if not each.facts["free_threaded"] and not each.facts["debug"]]


def link(version, facts):
    """An interpreter that has Python inside, from the archive that another one came with."""
    made = FOLDER / f"python{version}"
    if not made.exists() or made.stat().st_mtime < os.path.getmtime(facts["library"]):
        made.parent.mkdir(exist_ok=True)
        whole = ["-Wl,--whole-archive", facts["library"], "-Wl,--no-whole-archive"]
        subprocess.run(["cc", "-o", made, facts["main"], *whole, *shlex.split(facts["flags"])], check=True)
    return Interpreter([str(made)], {"PYTHONHOME": facts["prefix"]}, {**facts, "shared": False})


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
