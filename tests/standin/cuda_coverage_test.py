"""docs/standin-coverage.md says what a PyTorch CUDA wheel imports and what the stand-ins do with it: is it true?"""
import os
import pathlib
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["DDPSCOPE_BUILD"])
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "standin-coverage.md"


def symbols(library, which):
    """Name to nm's letter: T for code of its own, W for a stub that says NotSupported, U for an import."""
    listing = subprocess.run(["nm", "--dynamic", which, library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0]: line.split()[-2] for line in listing.splitlines()}


def table(prefix):
    """The page's rows whose function starts with prefix: name to its last column, yes or no."""
    rows = re.findall(rf"^\| `((?:__)?{prefix}\w+)` \|(?:.*\|)? (yes|no) \|$", PAGE.read_text(), re.MULTILINE)
    assert len(dict(rows)) == len(rows) > 0
    return dict(rows)


def test_cudart_column_is_what_was_built():
    built = symbols(BUILD / "lib/standin/libcudart.so.13", "--defined-only")
    assert table("cuda") == {name: {"T": "yes", "W": "no"}.get(built.get(name)) for name in table("cuda")}


def test_all_names_of_cuda_12_are_exported():
    theirs = PAGE.parents[1] / ".venv/cuda12/nvidia/cuda_runtime/lib/libcudart.so.12"
    if not theirs.exists():
        pytest.skip("no runtime of CUDA 12: bash cmake/install_dependencies.sh")
    names = {name for name in symbols(theirs, "--defined-only") if re.match("(__)?cuda", name)}
    assert len(names) > 400
    assert names - symbols(BUILD / "lib/standin/libcudart.so.12", "--defined-only").keys() == set()


def test_nccl_column_is_what_was_built():
    built = symbols(BUILD / "lib/standin/libnccl.so.2", "--defined-only")
    assert table("nccl") == {name: "yes" if name in built else "no" for name in table("nccl")}


def test_cupti_column_is_what_was_built():
    built = symbols(BUILD / "lib/standin/libcupti.so.13", "--defined-only")
    assert table("cupti") == {name: {"T": "yes", "W": "no"}.get(built.get(name)) for name in table("cupti")}


def test_headings_count_the_rows():
    for library, prefix in (("libcudart", "cuda"), ("libnccl", "nccl"), ("libcupti", "cupti")):
        counts = re.search(rf"^## {library}: (\d+) (?:imports|calls), (\d+) ", PAGE.read_text(), re.MULTILINE).groups()
        rows = table(prefix)
        assert counts == (str(len(rows)), str(list(rows.values()).count("yes")))


@pytest.mark.skipif("DDPSCOPE_TORCH_LIB" not in os.environ, reason="DDPSCOPE_TORCH_LIB names no unpacked torch/lib")
def test_names_are_the_wheels():
    imports = set()
    for library in pathlib.Path(os.environ["DDPSCOPE_TORCH_LIB"]).glob("*.so*"):
        imports |= symbols(library, "--undefined-only").keys()
    for prefix in ("cuda", "nccl"):
        assert set(table(prefix)) == {name for name in imports if re.match(rf"(__)?{prefix}[A-Z]", name)}
