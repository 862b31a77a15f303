"""No name of libc that real programs import is forgotten: it is hooked, or names_explained.txt says why not."""
import glob
import pathlib
import shutil
import subprocess

import numpy
import pytest
import torch

import traces

HERE = pathlib.Path(__file__).parent
LIBRARIES = "/usr/lib/x86_64-linux-gnu"


def symbols(path, kind, version=""):
    """Names that a library defines or wants; `version`: only those of that version node."""
    listing = subprocess.run(["nm", "-D", f"--{kind}-only", "--format=posix", path], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, check=True).stdout
    names = (line.split()[0] for line in listing.splitlines())
    return {name.split("@")[0] for name in names if version in name}


def explained():
    lines = (HERE / "names_explained.txt").read_text().splitlines()
    return [name for line in lines if not line.startswith("#") for name in line.split()]


def torch_files():
    near = [pathlib.Path(torch.__file__).parent, pathlib.Path(LIBRARIES)]
    return [path for folder in near for pattern in ("_C*.so", "lib/*.so*", "libtorch*.so*", "libc10*.so*", "libgloo*.so*")
            for path in glob.glob(str(folder / pattern)) if pathlib.Path(path).exists()]


PROGRAMS = {
    "python3": ["/usr/bin/python3.11", *glob.glob("/usr/lib/python3.11/lib-dynload/*.so")],
    "libtorch": torch_files(),
    "libstdc++": [f"{LIBRARIES}/libstdc++.so.6"],
    "numpy": glob.glob(str(pathlib.Path(numpy.__file__).parent / "**" / "*.so"), recursive=True),
}


def unexplained(binaries):
    libc = symbols(f"{LIBRARIES}/libc.so.6", "defined")
    imported = set().union(*(symbols(path, "undefined", "@GLIBC_") for path in binaries))
    return sorted((imported & libc) - symbols(traces.INJECTOR, "defined") - set(explained()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_imported_name_is_hooked_or_explained(name):
    assert PROGRAMS[name], "not where it was looked for"
    assert not unexplained(PROGRAMS[name])


def test_every_name_of_a_rust_program_is_hooked_or_explained(tmp_path):
    if not shutil.which("rustc"):
        pytest.skip("no rustc")
    subprocess.run(["rustc", "-O", HERE / "rust_guest.rs", "-o", tmp_path / "guest"], check=True, timeout=300)
    assert not unexplained([tmp_path / "guest"])


def test_explanations_are_needed():
    names = explained()
    assert len(names) == len(set(names))
    assert not set(names) & symbols(traces.INJECTOR, "defined"), "hooked, and explained why not"


def test_nothing_is_initialised_when_the_library_is_loaded():
    """Other libraries' constructors may have been recorded by then: what they left must not be set to zero again."""
    listing = subprocess.run(["nm", traces.INJECTOR], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "injector" in listing, "stripped: nothing to see"
    assert not [line for line in listing.splitlines() if "_GLOBAL__sub_I" in line]
