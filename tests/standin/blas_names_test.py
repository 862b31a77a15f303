"""Do the stand-ins export every name of the libraries that they stand in for?"""
import os
import pathlib
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["DDPSCOPE_BUILD"])


def exported(library):
    """Name with version to nm's letter."""
    listing = subprocess.run(["nm", "--dynamic", "--defined-only", library], capture_output=True, text=True, check=True)
    return {line.split()[-1]: line.split()[-2] for line in listing.stdout.splitlines()}


def real_library(variable):
    cache = (BUILD / "CMakeCache.txt").read_text()
    found = re.search(rf"^{variable}:FILEPATH=(.+)$", cache, re.MULTILINE)
    return pathlib.Path(found.group(1)) if found and not found.group(1).endswith("-NOTFOUND") else None


@pytest.mark.parametrize("variable, name, prefix", [
    ("CUBLAS_LIBRARY", "libcublas.so.13", "cublas"), ("CUBLASLT_LIBRARY", "libcublasLt.so.13", "cublasLt"),
    ("CURAND_LIBRARY", "libcurand.so.10", "curand")])
def test_every_name_is_there_with_its_version(variable, name, prefix):
    real, standin = real_library(variable), BUILD / "lib/standin" / name
    if real is None or not standin.exists():
        pytest.skip(f"no {name} of NVIDIA's, or no stand-in for it")
    wanted = {symbol for symbol in exported(real) if symbol.startswith(prefix)}
    assert len(wanted) > 20
    assert wanted == {symbol for symbol in exported(standin) if symbol.startswith(prefix)}
    assert not [symbol for symbol in exported(standin) if not symbol.startswith((prefix, name))], "OpenBLAS shows"
