#!/usr/bin/env python3
"""Makes the folder out of which packaging/Dockerfile makes an image: stage_image.py BUILD FOLDER; prints FOLDER."""
import pathlib
import shutil
import subprocess
import sys

from contents import SOURCE, all_licences, strip_programs, write_all


def main(build, folder):
    shutil.rmtree(folder, ignore_errors=True)
    prefix = folder / "ddpscope"
    subprocess.run(["cmake", "--install", build, "--component", "recorder", "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    strip_programs(prefix)
    write_all(prefix / "share/licenses/ddpscope", all_licences())
    shutil.copy(SOURCE / "packaging/Dockerfile", folder)
    print(folder)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*map(pathlib.Path, sys.argv[1:]))
