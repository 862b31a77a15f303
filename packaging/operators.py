#!/usr/bin/env python3
"""Compiles PyTorch's operators for packages: operators.py BUILD, run by a Python that has PyTorch's CUDA wheel.

BUILD is a configured and built preset portable. The library is written into BUILD/operators, from where `cmake --install` takes it.
It is compressed: for auditwheel a library that needs PyTorch's would make the wheel one of this machine only.
"""
import gzip
import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tempfile

import torch

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def main(build):
    sys.path.insert(0, str(build / "lib/standin/torch"))
    from standin_torch import compiled
    folder = build / "operators"
    folder.mkdir()
    with tempfile.TemporaryDirectory() as stage:
        library = pathlib.Path(stage, "library.so")
        compiler = cached(build, "CMAKE_CXX_COMPILER")
        use_shared_library(compiler, stage)
        words = compiled.command(torch, compiler, library, [f"-L{stage}", *flags(build)])
        subprocess.run(words, input=compiled.source_text(), text=True, check=True)
        subprocess.run(["strip", "--strip-unneeded", "--remove-section=.comment", library], check=True)
        packed = folder / (compiled.library_name(torch) + ".gz")
        packed.write_bytes(gzip.compress(library.read_bytes(), 9, mtime=0))
    (folder / "LICENSE.pytorch").write_text(licence())
    print(packed)


def use_shared_library(compiler, folder):
    """Exceptions of PyTorch are caught here: both have to use one C++ library. The root has only a static one."""
    shared = subprocess.run([compiler, "-print-file-name=libstdc++.so.6"], capture_output=True, text=True, check=True).stdout.strip()
    pathlib.Path(folder, "libstdc++.so").symlink_to(shared)


def flags(build):
    """Those of the toolchain file, and such that no path of this machine is in the library."""
    packages = pathlib.Path(torch.__file__).parent.parent
    return [f"--sysroot={SOURCE}/.venv/portable-root", *cached(build, "CMAKE_CXX_FLAGS").split(), f"-ffile-prefix-map={build.resolve()}/=",
            f"-ffile-prefix-map={packages}/="]


def cached(build, name):
    return re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)[1]


def licence():
    (file,) = (file for file in importlib.metadata.files("torch") if file.match("*.dist-info/licenses/LICENSE"))
    return file.read_text()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
