"""PyTorch's operators as the packages carry them, compiled: used where they fit, and nowhere else. There is no compiler in these jobs.

Skipped without the environment of tests/torch_cuda, for whose PyTorch they are compiled.
"""
import gzip
import os
import shutil
import subprocess

import pytest
from packages import clean_environment, find_pytorch, find_wheel, make_environment, run

PREBUILT = "standin/torch/standin_torch/prebuilt"
# The losses are those of the CPU to the bit.
TRAINING = """
import re, sys, torch
from torch import nn
def losses(device):
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, labels = torch.randn(8, 16).to(device), (torch.arange(8) % 4).to(device)
    for step in range(3):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item().hex()
assert list(losses("cuda")) == list(losses("cpu"))
print("in Python" if "standin_torch.queued" in sys.modules else "compiled")
"""


@pytest.fixture(scope="module")
def python():
    return find_pytorch() / "bin/python"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return make_environment(tmp_path_factory.mktemp("environment") / "environment", find_wheel())


@pytest.fixture
def prefix(installed, tmp_path):
    """A copy of its own."""
    (tmp_path / "prefix/bin").mkdir(parents=True)
    shutil.copy(installed / "bin/ddpscope", tmp_path / "prefix/bin")
    shutil.copytree(installed / "lib/ddpscope", tmp_path / "prefix/lib/ddpscope", copy_function=os.link)
    return tmp_path / "prefix"


def train(prefix, python, folder, **environment):
    """Which operators ran, and what was said about them."""
    (folder / "training.py").write_text(TRAINING)
    done = subprocess.run([prefix / "bin/ddpscope", "run", "--cpu", "-o", folder / "trace", "--", python, folder / "training.py"],
                          cwd=folder, capture_output=True, text=True, timeout=300,
                          env={**clean_environment(XDG_CACHE_HOME=folder / "cache"), "PATH": str(folder), **environment})
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip(), [line for line in done.stderr.splitlines() if line.startswith("standin torch: ")]


def only_prebuilt(prefix):
    (file,) = (prefix / "lib/ddpscope" / PREBUILT).glob("*.so.gz")
    return file


def replace(file, content):
    """`file` is another name of an installed one."""
    file.unlink()
    file.write_bytes(content)


def test_operators_of_the_package_are_used_without_a_compiler(prefix, python, tmp_path):
    assert train(prefix, python, tmp_path) == ("compiled", [])
    (file,) = (tmp_path / "cache/ddpscope/standin_torch").iterdir()
    assert file.name == "prebuilt-" + only_prebuilt(prefix).stem
    assert train(prefix, python, tmp_path) == ("compiled", [])  # from there


def test_those_in_python_give_the_same_numbers(prefix, python, tmp_path):
    assert train(prefix, python, tmp_path, STANDIN_TORCH="python") == ("in Python", [])


def test_they_need_no_cache(prefix, python, tmp_path):
    """A home without space, or one that is not there."""
    (tmp_path / "file").write_text("")
    (tmp_path / "temporary").mkdir()
    assert train(prefix, python, tmp_path, XDG_CACHE_HOME=str(tmp_path / "file"), TMPDIR=str(tmp_path / "temporary")) == ("compiled", [])
    assert not list((tmp_path / "temporary").glob("*.so"))


def change_version(prefix):
    file = only_prebuilt(prefix)
    file.rename(file.with_name(file.name.replace("+cu", "+cpu")))


def change_sources(prefix):
    header = prefix / "lib/ddpscope" / PREBUILT / "../native/shapes.h"
    replace(header, header.read_bytes() + b"// changed\n")


@pytest.mark.parametrize("change", [change_version, change_sources])
def test_what_does_not_fit_is_not_used(change, prefix, python, tmp_path):
    change(prefix)
    variant, (line,) = train(prefix, python, tmp_path)
    assert variant == "in Python" and "there is no C++ compiler" in line


@pytest.mark.parametrize("content", [b"no archive", gzip.compress(b"no library"), gzip.compress(b"cut off" * 1000)[:40]])
def test_what_cannot_be_loaded_is_said_and_not_used(content, prefix, python, tmp_path):
    replace(only_prebuilt(prefix), content)
    variant, lines = train(prefix, python, tmp_path)
    assert variant == "in Python" and len(lines) == 2
    assert "the operators that ddpscope brings for PyTorch cannot be loaded" in lines[0] and "there is no C++ compiler" in lines[1]


def test_others_are_built_on_first_use(prefix, python, tmp_path):
    """With the headers that come with PyTorch: a toolkit in the compiler's own folders is hidden."""
    only_prebuilt(prefix).unlink()
    search = run("sh", "-c", "g++ -x c++ -E -v - </dev/null").split("search starts here:\n")[-1].split("End of search list")[0].split()
    folders = " ".join(f"-isystem {folder}" for folder in search if folder != "/usr/local/include")
    compiler = tmp_path / "compiler"
    compiler.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin exec g++ -nostdinc {folders} \"$@\"\n")
    compiler.chmod(0o755)
    variant, lines = train(prefix, python, tmp_path, CXX=str(compiler))
    assert variant == "compiled" and lines[-1].startswith("standin torch: built in "), lines
