"""The packages for Debian and for RPM's systems, and the image: what they ask of a system, and what is in them.

test_roots.py installs Debian's. A system with RPM cannot be had: of those packages the content is used.
"""
import json
import os
import pathlib
import re
import subprocess

import pytest
from packages import SOURCE, TOOLS, clean_environment, find_package, run

BOTH = pytest.mark.parametrize("kind", ["deb", "rpm"])


def unpack(path, folder):
    folder.mkdir()
    if path.suffix == ".deb":
        run("dpkg-deb", "-x", path, folder)
    else:
        archive = subprocess.run(["rpm2archive", "-"], stdin=path.open("rb"), capture_output=True, check=True).stdout
        subprocess.run(["tar", "-xz", "-C", folder], input=archive, check=True)
    return folder / "usr"


def files(prefix):
    return {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize("name", ["ddpscope", "ddpscope-viewer"])
def test_lintian_finds_no_error(name):
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", find_package(name, "deb")], capture_output=True, text=True,
                          env=clean_environment())
    assert done.returncode == 0, done.stdout + done.stderr


def test_debian_packages_need_the_c_library_and_each_other():
    def field(name, which):
        return run("dpkg-deb", "--field", find_package(name, "deb"), which).strip()
    version = field("ddpscope", "Version")
    assert field("ddpscope", "Depends") == "libc6 (>= 2.28)" and field("ddpscope", "Recommends") == "ddpscope-viewer"
    assert field("ddpscope-viewer", "Depends") == f"ddpscope (= {version}), libc6 (>= 2.28)"
    assert field("ddpscope-viewer", "Recommends").startswith("libegl1, libgl1")
    assert field("ddpscope", "Provides") == field("ddpscope-viewer", "Provides") == ""


def test_rpm_packages_need_the_c_library_and_each_other():
    """Libraries with NVIDIA's names lie in them, which no other package may take for NVIDIA's."""
    def said(name, what):
        lines = run("rpm", "-qp", what, find_package(name, "rpm")).splitlines()
        return [line for line in lines if not line.startswith(("rpmlib(", "warning:"))]
    assert said("ddpscope", "--requires") == ["glibc >= 2.28"]
    own, dependency = sorted(said("ddpscope-viewer", "--requires"))
    assert own.startswith("ddpscope = ") and dependency == "glibc >= 2.28"
    for name in ("ddpscope", "ddpscope-viewer"):
        assert {line.split(" ")[0] for line in said(name, "--provides")} == {name, f"{name}(x86-64)"}


@BOTH
def test_they_hold_what_is_installed(kind, tmp_path):
    installed = tmp_path / "installed"
    run("cmake", "--install", SOURCE / "build/portable", "--prefix", installed)
    command, viewer = (files(unpack(find_package(name, kind), tmp_path / name)) for name in ("ddpscope", "ddpscope-viewer"))
    assert not command & viewer
    compressed = {name.removesuffix(".gz") if "/man/" in name else name for name in command | viewer}
    missing, more = files(installed) - compressed, compressed - files(installed)
    assert not missing
    assert all(re.match(r"share/(licenses|lintian)/|share/doc/ddpscope(-viewer)?/(copyright|changelog.gz)$", name) for name in more), more
    of_graphics = [name for name in command if re.search("viewer|glfw|epoxy|fonts", name) and "share/doc" not in name]
    assert [name for name in of_graphics if "licenses" not in name] == []


@pytest.mark.one_of(2)
@BOTH
def test_what_is_unpacked_works_and_the_viewer_is_missed(kind, tmp_path):
    prefix = unpack(find_package("ddpscope", kind), tmp_path / "root")
    environment = clean_environment()
    environment["PATH"] = f"{prefix}/bin:{environment['PATH']}"
    said = run("ddpscope-demo", "--ranks", 2, "--out", tmp_path / "demo", env=environment)
    assert f"using {prefix}/bin/ddpscope" in said and "each of the 4 bugs found as exactly itself" in said
    trace = tmp_path / "demo/unsharded-sampler.trace"
    said = run("ddpscope", "view", trace, "--screenshot", tmp_path / "none.png", code=2, env=environment)
    assert "the viewer is not installed" in said and "the wheel and the package ddpscope-viewer have it" in said
    run("ddpscope", "report", trace, "--format", "html", "--fail-on", "none", "-o", tmp_path / "page.html", env=environment)
    assert "No picture: the viewer is not installed" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("name", ["ddpscope", "ddpscope-viewer"])
@BOTH
def test_they_carry_licences_and_nothing_of_the_machine_that_made_them(kind, name, tmp_path):
    package = find_package(name, kind)
    prefix = unpack(package, tmp_path / "root")
    licences = prefix / (f"share/doc/{name}/copyright" if kind == "deb" else f"share/licenses/{name}/NOTICE")
    assert "Copyright 2026 ddpscope authors" in licences.read_text()
    for path in prefix.rglob("*"):
        assert not path.is_file() or str(SOURCE).encode() not in path.read_bytes(), path
    told = run("dpkg-deb", "--info", package) if kind == "deb" else run("rpm", "-qip", package)
    assert "ddpscope" in told and not re.search(rf"\b{re.escape(os.uname().nodename)}\b", told)


def buildah(folder, *words):
    return run("buildah", "--root", folder / "storage", "--runroot", folder / "running", "--storage-driver", "vfs", *words)


def test_an_image_hands_on_the_command_and_what_it_preloads(tmp_path):
    """As `docker build` and a Dockerfile with COPY --from do it."""
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY --from=localhost/ddpscope /opt/ddpscope /opt/ddpscope\n")
    for tag, context in (("ddpscope", find_package("image", "")), ("training", tmp_path)):
        buildah(tmp_path, "build", "--isolation", "chroot", "--tag", tag, context)
    container = buildah(tmp_path, "from", "localhost/training").split()[-1]
    prefix = pathlib.Path(buildah(tmp_path, "mount", container).strip()) / "opt/ddpscope"
    assert {name for name in files(prefix) if "licenses" not in name} == {"bin/ddpscope", "lib/ddpscope/libddpscope.so"}
    assert {"LICENSE", "NOTICE", "LGPL-3"} <= {path.name for path in (prefix / "share/licenses/ddpscope").iterdir()}
    job = "import os; open('weights.' + os.environ['RANK'], 'wb').write(b'w' * 100000)"
    run(prefix / "bin/ddpscope", "run", "-o", tmp_path / "trace", "--", "sh", "-c",
        f'for rank in 0 1; do RANK=$rank WORLD_SIZE=2 {TOOLS}/python -c "{job}" & done; wait', cwd=tmp_path)
    report = json.loads(run(prefix / "bin/ddpscope", "report", tmp_path / "trace", "--format", "json", "--fail-on", "none"))
    assert report["job"]["ranks"] == 2
