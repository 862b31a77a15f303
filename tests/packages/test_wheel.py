"""The wheel: what it asks of a system, and what works once it is installed."""
import ast
import gzip
import json
import os
import pathlib
import re
import shutil
import zipfile

import pytest
from packages import SOURCE, TOOLS, clean_environment, find_pytorch, find_wheel, make_environment, run

GLIBC = (2, 28)
# As manylinux_2_28 allows: PyTorch's operators use the C++ library that PyTorch uses.
CXX_LIBRARY = {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
# The C library's own, and those of the wheel itself.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
OF_PYTORCH = {"libc10.so", "libc10_cuda.so", "libtorch_cpu.so", "libtorch_cuda.so", "libstdc++.so.6", "libgcc_s.so.1"}
OWN = {"libcudart.so.13", "libcupti.so.13", "libnccl.so.2", "libglfw.so.3", "libepoxy.so.0"}


@pytest.fixture(scope="module")
def wheel():
    return find_wheel()


@pytest.fixture(scope="module")
def prefix(wheel, tmp_path_factory):
    """Installed, and moved elsewhere."""
    first = make_environment(tmp_path_factory.mktemp("environment") / "first", wheel)
    return first.rename(first.parent / "moved")


@pytest.fixture(scope="module")
def files(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    zipfile.ZipFile(wheel).extractall(folder)
    binaries = [path for path in folder.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(binaries) > 10
    return binaries


@pytest.fixture(scope="module")
def operators(wheel, tmp_path_factory):
    """PyTorch's operators, compiled: packed, so that auditwheel does not ask for PyTorch's libraries."""
    find_pytorch()
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if "/standin_torch/prebuilt/" in name and name.endswith(".so.gz")]
    path = tmp_path_factory.mktemp("operators") / name.rpartition("/")[2].removesuffix(".gz")
    path.write_bytes(gzip.decompress(archive.read(name)))
    return path


def record_and_report(command, folder, *arguments):
    run(command, "run", "--cpu", "-o", folder / "trace", "--", command.parent / "reference_trainer", "--ranks", 2, "--workdir",
        folder / "job", *arguments, cwd=folder)
    return json.loads(run(command, "report", folder / "trace", "--format", "json", "--fail-on", "none"))


def needs(path):
    """Libraries, and the versions of their symbols: (name, version)."""
    dynamic = run("objdump", "-p", path)
    versions = re.findall(r" (GLIBC|GLIBCXX|CXXABI|GCC)_([0-9.]+)\n", dynamic.split("Version References:")[-1])
    return set(re.findall(r"NEEDED +(\S+)", dynamic)), {(name, tuple(map(int, version.split(".")))) for name, version in versions}


def test_no_file_asks_for_a_newer_system(files):
    for path in files:
        needed, versions = needs(path)
        assert needed <= SYSTEM | OWN, (path.name, needed)
        assert {name for name, _ in versions} == {"GLIBC"}, (path.name, versions)
        newest = max(version for _, version in versions)
        assert newest <= GLIBC, (path.name, newest)


def test_the_operators_ask_for_pytorch_and_no_newer_system(operators, wheel):
    needed, versions = needs(operators)
    assert {"libtorch_cpu.so", "libstdc++.so.6"} <= needed <= SYSTEM | OF_PYTORCH, needed
    limits = {"GLIBC": GLIBC, **CXX_LIBRARY}
    assert {("GLIBC", (2, 2, 5)), ("GLIBCXX", (3, 4))} <= versions
    assert [(name, version) for name, version in versions if version > limits[name]] == []
    assert not re.search(r"RPATH|RUNPATH", run("objdump", "-p", operators))
    assert any(name.endswith("/prebuilt/LICENSE.pytorch") for name in zipfile.ZipFile(wheel).namelist())


def test_no_library_shows_the_c_plus_plus_library_that_is_in_it(files):
    """Names that are seen would take the place of those of the job's own."""
    for path in files:
        if ".data/data/lib/" in str(path):
            assert not re.findall(r" (_ZNK?S\S*|_ZT[ISV]S\S*|__cxa_\S*|_Unwind_\S*)$", run("nm", "-D", "--defined-only", path), re.M), path.name


def test_auditwheel_agrees(wheel):
    said = run(TOOLS / "python", "-m", "auditwheel", "show", wheel)
    major, minor = map(int, re.search(r"manylinux_(\d+)_(\d+)_x86_64\"", " ".join(said.split())).groups())
    assert (major, minor) <= GLIBC and wheel.name.endswith("-py3-none-manylinux_2_28_x86_64.whl")


def test_no_path_of_the_machine_that_made_it(files):
    for path in files:
        assert str(SOURCE).encode() not in path.read_bytes(), path.name


def test_no_path_of_the_machine_that_made_the_operators(operators):
    for path in (SOURCE, find_pytorch()):
        assert str(path).encode() not in operators.read_bytes(), path


def test_it_carries_the_licences_of_what_is_in_it(wheel):
    archive = zipfile.ZipFile(wheel)
    texts = {name.rpartition("/")[2]: archive.read(name).decode() for name in archive.namelist() if "/licenses/" in name}
    assert "Apache License" in texts["LICENSE"] and "JetBrains Mono Project Authors" in texts["NOTICE"]
    for name, says in (("LGPL-3", "GNU LESSER GENERAL PUBLIC LICENSE"), ("GPL-3", "GNU GENERAL PUBLIC LICENSE"),
                       ("gcc-12-base", "GCC RUNTIME LIBRARY EXCEPTION"), ("fonts-inter", "The goals of the Open Font License"),
                       ("libglfw3-dev", "altered source versions"), ("libopenblas-serial-dev", "Redistribution"),
                       ("libimgui-dev", "Permission is hereby granted"), ("libfreetype-dev", "FreeType")):
        assert says.lower() in " ".join(texts[name].split()).lower(), name
    for package in ("fmt", "nlohmann-json3", "cli11", "xxhash", "zstd", "pugixml", "libdw", "libelf", "zlib1g", "bz2", "lzma", "stb", "png", "brotli",
                    "epoxy"):
        assert any(package in name for name in texts), package


def test_a_bug_is_found_at_its_line(prefix, tmp_path):
    report = record_and_report(prefix / "bin/ddpscope", tmp_path, "--fault", "redundant-accumulation-sync")
    (finding,) = report["findings"]
    assert finding["slug"] == "redundant-accumulation-sync" and "gradient_buckets.cpp:" in finding["title"]


def test_the_demonstration_runs_with_what_is_installed(prefix, tmp_path):
    environment = clean_environment()
    environment["PATH"] = f"{prefix}/bin:{environment['PATH']}"
    said = run("bash", SOURCE / "reference_trainer/demo.sh", "--ranks", 2, "--out", tmp_path / "demo", env=environment)
    assert f"using {prefix}/bin/ddpscope" in said and "each of the 4 bugs found as exactly itself" in said


def test_a_picture_is_drawn_by_the_libraries_of_the_wheel(prefix, tmp_path):
    record_and_report(prefix / "bin/ddpscope", tmp_path)
    said = run(prefix / "bin/ddpscope", "view", tmp_path / "trace", "--screenshot", tmp_path / "picture.png", "--size", "640x480",
               env=clean_environment(LD_DEBUG="libs"))
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"
    for library in ("libepoxy.so.0", "libglfw.so.3"):
        (used,) = set(re.findall(rf"calling init: (\S+/{re.escape(library)})", said))
        assert (prefix / "lib/ddpscope" / library).samefile(used)


def test_python_knows_where_it_is(prefix, tmp_path):
    python = prefix / "bin/python"
    assert run(python, "-m", "ddpscope", "--version") == run(prefix / "bin/ddpscope", "--version")
    said = run(python, "-c", "import ddpscope; print(ddpscope.injector_path()); print(ddpscope.__version__)").split()
    assert said[0] == str(prefix / "lib/ddpscope/libddpscope.so")
    assert run(prefix / "bin/ddpscope", "--version").startswith(said[1])
    # By hand, as a launcher of somebody else's would.
    run(python, "-c", "open('weights', 'w').write('of rank 0')", cwd=tmp_path, env=clean_environment(
        LD_PRELOAD=said[0], DDPSCOPE_TRACE=tmp_path, RANK=0, WORLD_SIZE=2))
    assert list(tmp_path.glob("*.ddps"))


def test_each_of_two_versions_takes_its_own_libraries(prefix, wheel, tmp_path):
    other = make_environment(tmp_path / "other", wheel)
    environment = clean_environment()
    environment["PATH"] = f"{other}/bin:{environment['PATH']}"  # the other one is first on the PATH
    run(prefix / "bin/ddpscope", "run", "--cpu", "-o", tmp_path / "trace", "--", prefix / "bin/reference_trainer", "--ranks", 2,
        "--epochs", 1, cwd=tmp_path, env=environment)
    dump = run(prefix / "bin/ddpscope", "dump", tmp_path / "trace")
    assert f"{prefix}/lib/ddpscope/libddpscope.so" in dump and str(other / "lib/ddpscope") not in dump


def test_it_needs_neither_a_home_nor_write_access(prefix, tmp_path):
    """Another user, whose home is not there, in an environment that belongs to root."""
    for folder in (prefix.parent, *prefix.parent.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    folder = tmp_path / "of_nobody"
    folder.mkdir()
    tmp_path.chmod(0o755)
    folder.chmod(0o777)
    said = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", prefix / "bin/ddpscope", "run", "--cpu", "-o",
               folder / "trace", "--", prefix / "bin/reference_trainer", "--ranks", 2, "--workdir", folder / "job", "--epochs", 1,
               cwd=folder, env=clean_environment(HOME="/nowhere"))
    assert "2 ranks" in said and "nothing found" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="it takes root")
def test_a_home_without_space_is_enough(prefix, tmp_path):
    (tmp_path / "home").mkdir()
    fill = 'mount -t tmpfs -o size=4k tmpfs "$HOME"\nif head -c 8192 /dev/zero >"$HOME/full"; then exit 1; fi\n'
    job = '"$0" run --cpu -o trace -- "$1" --ranks 2 --epochs 1\n"$0" report trace\n"$0" info trace\n'
    said = run("unshare", "--mount", "bash", "-ec", fill + job, prefix / "bin/ddpscope", prefix / "bin/reference_trainer", cwd=tmp_path,
               env=clean_environment(HOME=tmp_path / "home"))
    assert "2 ranks" in said and "nothing found" in said


def test_it_is_installed_for_a_user_and_leaves_nothing(wheel, tmp_path):
    # pip of a virtual environment, run by the system's Python: only that installs for a user.
    run("/usr/bin/python3", "-m", "venv", tmp_path / "environment")
    (packages,) = (tmp_path / "environment/lib").glob("python3*/site-packages")
    user = tmp_path / "user"
    environment = clean_environment(PYTHONUSERBASE=user, PIP_BREAK_SYSTEM_PACKAGES=1, PYTHONPATH=packages)
    pip = ("/usr/bin/python3", "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-index", "--user", wheel, env=environment)
    record_and_report(user / "bin/ddpscope", tmp_path)
    run(*pip, "uninstall", "--quiet", "--yes", "ddpscope", env=environment)
    assert not [path for path in user.rglob("*") if path.is_file()]


def test_a_folder_for_containers_runs_wherever_it_is_mounted(wheel, prefix, tmp_path):
    """As docs/containers.md makes it."""
    run(prefix / "bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--ignore-installed", "--prefix", tmp_path / "opt", wheel)
    mounted = (tmp_path / "opt").rename(tmp_path / "mounted")
    assert {path.name for path in mounted.iterdir()} == {"bin", "lib", "share"}
    report = record_and_report(mounted / "bin/ddpscope", tmp_path, "--fault", "unsharded-sampler")
    assert [finding["slug"] for finding in report["findings"]] == ["unsharded-sampler"]


def find_python(version):
    """The system's or pyenv's; skips the test where there is none."""
    found = (shutil.which(f"python{version}", path="/usr/bin"), *pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    if not any(found):
        pytest.skip(f"there is no Python {version}")
    return next(filter(None, found))


@pytest.mark.parametrize("version", ["3.8", pytest.param("3.10", marks=pytest.mark.long), pytest.param("3.13", marks=pytest.mark.long)])
def test_it_is_one_for_every_python(version, wheel, tmp_path):
    environment = make_environment(tmp_path / "environment", wheel, find_python(version))
    said = run(environment / "bin/python", "-c", "import ddpscope; print(ddpscope.injector_path())").strip()
    assert said == str(environment / "lib/ddpscope/libddpscope.so")
    report = record_and_report(environment / "bin/ddpscope", tmp_path, "--fault", "unsharded-sampler")
    assert [finding["slug"] for finding in report["findings"]] == ["unsharded-sampler"]


def test_an_older_python_is_refused(wheel, tmp_path):
    run(find_python("3.7"), "-m", "venv", tmp_path / "environment")
    said = run(tmp_path / "environment/bin/python", "-m", "pip", "install", "--no-index", wheel, code=1)
    assert "requires a different Python" in said and "not in '>=3.8'" in said


def test_its_python_files_are_of_3_8(wheel):
    archive = zipfile.ZipFile(wheel)
    assert "\nRequires-Python: >=3.8\n" in archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA"))).decode()
    names = [name for name in archive.namelist() if name.endswith(".py") and "/doc/" not in name]
    assert {"ddpscope/__main__.py"} < set(names) and any(name.endswith("standin_torch/compiled.py") for name in names)
    for name in names:
        ast.parse(archive.read(name), name, feature_version=(3, 8))


def test_another_processor_is_refused(wheel, tmp_path):
    foreign = tmp_path / wheel.name.replace("x86_64", "aarch64")
    foreign.write_bytes(wheel.read_bytes())
    run("/usr/bin/python3", "-m", "venv", tmp_path / "environment")
    said = run(tmp_path / "environment/bin/python", "-m", "pip", "install", "--no-index", foreign, code=1)
    assert "is not a supported wheel on this platform" in said
