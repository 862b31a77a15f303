"""The wheel under test, and where it is installed."""
import os
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = SOURCE / ".venv/bin"  # packaging/build.sh installs its own there


def find_wheel():
    """DDPSCOPE_WHEEL, or the newest in build/packages; DDPSCOPE_WHEEL=required: fails without one."""
    wanted = os.environ.get("DDPSCOPE_WHEEL", "")
    if wanted not in ("", "required"):
        return pathlib.Path(wanted)
    wheels = sorted((SOURCE / "build/packages").glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime)
    if not wheels and wanted != "required":
        pytest.skip("no wheel: packaging/build.sh makes one")
    return wheels[-1]


def find_package(name, kind):
    """What packaging/build.sh made beside the wheel; `kind` is deb, rpm, or empty: a folder."""
    folder = find_wheel().parent
    if not kind:
        return folder / name
    (path,) = folder.glob(f"{name}_*.deb" if kind == "deb" else f"{name}-[0-9]*.rpm")
    return path


def find_pytorch():
    """The environment for whose PyTorch the packages carry operators (tests/torch_cuda); skips the test where there is none."""
    found = subprocess.run(["bash", SOURCE / "tests/torch_cuda/environment.sh", "--find"], capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip("no environment with PyTorch: bash tests/torch_cuda/environment.sh")
    return pathlib.Path(found.stdout.strip())


def run(*words, code=0, **options):
    """What it prints; LD_PRELOAD and the PATH of the tests are not handed on unless asked for."""
    options.setdefault("env", clean_environment())
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == code, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def clean_environment(**more):
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "TMPDIR", "USER")}
    return {**kept, "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **{name: str(value) for name, value in more.items()}}


def make_environment(folder, wheel, python="/usr/bin/python3"):
    """An empty virtual environment with the wheel in it."""
    run(python, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-index", wheel)
    return folder
