"""The environment with PyTorch's official CUDA wheel (tests/torch_cuda/environment.sh); without it the tests are skipped."""
import functools
import os
import pathlib
import subprocess

import pytest

# Another version, and the Python that it runs on, for tests/run.sh --long.
WANTED = os.environ.get("DDPSCOPE_PYTORCH", "").split()


@functools.cache
def find(*options):
    """The folder of the environment, or None."""
    script = pathlib.Path(__file__).parents[1] / "torch_cuda" / "environment.sh"
    found = subprocess.run(["bash", script, "--find", *options, *WANTED], stdout=subprocess.PIPE, text=True)
    return pathlib.Path(found.stdout.strip()) if found.returncode == 0 else None


def python(*options):
    """The interpreter that has PyTorch; skips the test where there is none."""
    environment = find(*options)
    if environment is None:
        pytest.skip(f"no environment with PyTorch: bash tests/torch_cuda/environment.sh {' '.join([*options, *WANTED])}".strip())
    return environment / "bin" / "python"


def has_older_group():
    """Backend nccl is what it was until PyTorch 2.15 brought another process group: it calls NCCL in other ways."""
    return bool(WANTED) and tuple(map(int, WANTED[0].split(".")[:2])) < (2, 15)


def libraries():
    """torch/lib of the wheel."""
    folder, = (python().parents[1] / "lib").glob("python3.*")
    return folder / "site-packages" / "torch" / "lib"
