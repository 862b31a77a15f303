"""cmake/install_dependencies.sh on a network that fails, and CMake where nothing was installed.

apt-get, pip and a toolkit are stand-ins, and what is here already is hidden from CMake.
"""
import os
import pathlib
import shutil
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "cmake/install_dependencies.sh"
# It counts the downloads, and answers with the sources of the schemas after as many failures as the file `failures` says.
PIP = """#!/bin/bash -e
[ "$5" = download ] || exec mkdir -p "$9"  # pip install --target
[ "$8" = .venv/schemas/sources ] || exit 1
echo >> downloads
[ "$(wc -l < downloads)" -gt "$(cat failures)" ] || exit 1
mkdir -p made/sources
touch made/sources/junk
echo schema | tee made/sources/sarif-schema-2.1.0.json > made/sources/junit-10.xsd
tar -czf .venv/schemas/sources/made.tar.gz made
"""


@pytest.fixture
def install(tmp_path):
    def program(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    program("bin/dpkg-query", "#!/bin/sh\necho installed\n")
    for name, code in ("sleep", 0), ("apt-get", 1), ("sudo", 1):
        program(f"bin/{name}", f"#!/bin/sh\nexit {code}\n")
    program(".venv/bin/python", PIP)
    program("cuda/bin/nvcc", "#!/bin/sh\necho release 13.0\n")
    for file in "include/nccl.h", "lib/libnccl.so.2":
        program(f"cuda/{file}", "")
    program("cmake/install_dependencies.sh", "")
    shutil.copy(SCRIPT, tmp_path / "cmake")
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "DDPSCOPE_CUDA_ROOT": str(tmp_path / "cuda")}
    environment.pop("DDPSCOPE_FORCE_WHEELS", None)

    def run(failures):
        (tmp_path / "failures").write_text(str(failures))
        return subprocess.run(["bash", "cmake/install_dependencies.sh"], cwd=tmp_path, env=environment, capture_output=True,
                              text=True, timeout=60)
    run.schemas, run.downloads = tmp_path / ".venv/schemas", tmp_path / "downloads"
    return run


def test_a_download_that_fails_for_a_moment_is_tried_again(install):
    done = install(failures=2)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in install.schemas.iterdir()) == ["junit-10.xsd", "sarif-schema-2.1.0.json", "unpacked"]
    assert "trying again in 5 s" in done.stderr and "report formats" not in done.stderr


def test_one_that_goes_on_failing_is_told_and_asked_for_again_the_next_time(install):
    done = install(failures=3)
    assert done.returncode == 0 and "the tests of report formats will fail" in done.stderr, done.stderr
    assert list(install.schemas.iterdir()) == []
    assert install(failures=3).returncode == 0
    assert len(install.downloads.read_text().splitlines()) == 4 and (install.schemas / "junit-10.xsd").exists()
    assert install(failures=3).returncode == 0 and len(install.downloads.read_text().splitlines()) == 4, "it is there"


def test_without_a_toolkit_cmake_names_the_script_that_brings_one(tmp_path):
    only_there = "".join(f"set(CMAKE_FIND_ROOT_PATH_MODE_{kind} ONLY)\n" for kind in ("INCLUDE", "LIBRARY", "PROGRAM"))
    (tmp_path / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES NONE)
set(CMAKE_FIND_ROOT_PATH {tmp_path / "nothing"})
{only_there}include({SCRIPT.parent / "cuda.cmake"})
""")
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build"], capture_output=True, text=True, timeout=60)
    said = " ".join(done.stderr.split())
    assert done.returncode == 1 and "bash cmake/install_dependencies.sh" in said and "DDPSCOPE_CUDA_ROOT" in said, said
    assert "CUDA_INCLUDE_DIR, NCCL_INCLUDE_DIR" in said and said.count("CMake Error") == 1
