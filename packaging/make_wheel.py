#!/usr/bin/env python3
"""Makes the wheel out of what preset portable built: make_wheel.py BUILD FOLDER; prints the wheel's path.

It carries programs and libraries of no Python version: pip lays bin/, lib/ and share/ of an installation into the environment,
where the command finds its libraries from where it lies itself (cmake/install.cmake), and a small module beside them.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from contents import SOURCE, all_licences, strip_programs
from wheel.wheelfile import WheelFile

PLATFORM = "manylinux_2_28_x86_64"  # packaging/root.sh
LEFT_OUT = ("lib/cmake",)  # for who builds with CMake


def main(build, folder):
    version = re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)[1]
    path = folder / f"ddpscope-{version}-py3-none-{PLATFORM}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as stage, WheelFile(path, "w") as wheel:
        subprocess.run(["cmake", "--install", build, "--prefix", stage], check=True, stdout=subprocess.DEVNULL)
        strip_programs(pathlib.Path(stage))
        add_tree(wheel, pathlib.Path(stage, "bin"), f"ddpscope-{version}.data/scripts")
        for part in ("lib", "share"):
            add_tree(wheel, pathlib.Path(stage, part), f"ddpscope-{version}.data/data/{part}",
                     leave_out=[pathlib.Path(stage, name) for name in LEFT_OUT])
        add_tree(wheel, SOURCE / "packaging/python/ddpscope", "ddpscope", pattern="*.py")
        info = f"ddpscope-{version}.dist-info"
        wheel.writestr(f"{info}/METADATA", metadata(version))
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: ddpscope {version}\nRoot-Is-Purelib: false\nTag: py3-none-{PLATFORM}\n")
        for name, text in all_licences().items():
            wheel.writestr(f"{info}/licenses/{name}", text)
    print(path)


def add_tree(wheel, folder, to, pattern="*", leave_out=()):
    for file in sorted(folder.rglob(pattern)):
        # A link is a library's name for who links with it: wheels carry none.
        if file.is_file() and not file.is_symlink() and not any(part in file.parents for part in leave_out):
            wheel.write(file, f"{to}/{file.relative_to(folder)}")


def metadata(version):
    return f"""Metadata-Version: 2.1
Name: ddpscope
Version: {version}
Summary: Diagnostics and profiling for distributed data-parallel training jobs
Requires-Python: >=3.8
License: Apache-2.0; NOTICE names the works that the wheel carries and their licences
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development :: Debuggers
Description-Content-Type: text/markdown

{(SOURCE / "README.md").read_text()}"""


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*map(pathlib.Path, sys.argv[1:]))
