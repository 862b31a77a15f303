"""Allocators that take malloc's place: in front of us, behind us, linked into the program; recorded or not."""
import importlib.util
import subprocess
import sys

import pytest

import records
import traces

GUESTS = traces.BUILD / "bin" / "inject"
ALLOCATORS = ["libjemalloc.so.2", "libmimalloc.so.2.0", "libtcmalloc_minimal.so.4"]
# Forks before there is a group: the children allocate, too.
TWO_RANKS = """
import os, torch
rank = 0 if os.fork() else 1
import torch.distributed as dist
dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meet"), rank=rank, world_size=2)
sum = torch.ones(1000)
for _ in range(5): dist.all_reduce(sum)
assert sum[0] == 32
dist.destroy_process_group()
if rank == 0: assert os.wait()[1] == 0
"""


def built(guest):
    return GUESTS / guest if (GUESTS / guest).exists() else pytest.skip("not built: " + guest)


def linked(guest, name):
    """The library of that name that the guest was linked with."""
    listed = subprocess.run(["ldd", built(guest)], capture_output=True, text=True, check=True).stdout
    paths = [line.split()[2] for line in listed.splitlines() if line.split()[0].startswith(name)]
    return paths[0] if paths else pytest.skip(f"{guest} is not linked with {name}")


def library(name):
    return linked("allocators_guest_" + name, name.split(".")[0])


def assert_runs(command, preload, tmp_path):
    for disable in ("1", "0"):
        folder, trace = tmp_path / f"disable-{disable}", tmp_path / f"trace-{disable}"
        done = traces.start(command, folder, preload, trace, {"DDPSCOPE_DISABLE": disable})
        assert done == (0, ""), f"DDPSCOPE_DISABLE={disable}"
        assert (folder / "of-child").exists() and (folder / "of-parent").exists()
        opened = [r["path"].rsplit("/", 1)[1] for r in records.read(trace) if r.call == "open" and "of-" in r["path"]]
        assert sorted(opened) == (["of-child"] * 3 + ["of-parent"] if disable == "0" else [])


@pytest.mark.parametrize("order", ["in front", "behind"])
@pytest.mark.parametrize("name", ALLOCATORS)
def test_preloaded(name, order, tmp_path):
    libraries = [library(name), str(traces.INJECTOR)]
    assert_runs([built("allocators_guest")], ":".join(libraries if order == "in front" else libraries[::-1]), tmp_path)


def test_under_valgrind(tmp_path):
    """It takes malloc's place, and reads what our files are mapped as. Memcheck finds no error of ours."""
    command = ["valgrind", "--quiet", "--error-exitcode=9", "--trace-children=yes", built("allocators_guest")]
    assert_runs(command, str(traces.INJECTOR), tmp_path)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_linked(name, tmp_path):
    assert_runs([built("allocators_guest_" + name)], traces.INJECTOR, tmp_path)


def test_address_sanitizer(tmp_path):
    """Its runtime has to be the first library of all. It doesn't survive a fork while another thread allocates."""
    guest = "allocators_guest_asan"
    assert_runs([built(guest), "forks-alone"], f"{linked(guest, 'libasan')}:{traces.INJECTOR}", tmp_path)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_pytorch(name, tmp_path):
    """`run` adds to the allocator that the user preloads."""
    if not importlib.util.find_spec("torch"):
        pytest.skip("no PyTorch")
    command = [traces.BUILD / "bin" / "ddpscope", "run", "-o", tmp_path / "trace", "--", sys.executable, "-c", TWO_RANKS]
    assert traces.start(command, tmp_path / "job", variables={"LD_PRELOAD": library(name)})[0] == 0
    assert {r.call for r in records.read(tmp_path / "trace")} >= {"connect", "accept"}
