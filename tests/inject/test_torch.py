"""The hooks on PyTorch's functions, on a library that has these functions and is nothing else."""
import collections
import pathlib
import re
import sys

import pytest
import records
import traces

FOLDER = traces.BUILD / "bin" / "inject"
GUEST = FOLDER / "torch_guest"


def run(folder, *words):
    """The guest's output, which is the same without the injector, and its records."""
    code, plain = traces.start([GUEST, *words], folder / "plain")
    assert code == 0, plain
    code, recorded = traces.start([GUEST, *words], folder / "recorded", traces.INJECTOR, folder / "trace")
    assert (code, recorded) == (0, plain)
    return plain, records.read(folder / "trace")


def of(found, call):
    return [record for record in found if record.call == call]


@pytest.mark.parametrize("offset", [56, 64, 72])
def test_a_known_layout_is_recognised(tmp_path, offset):
    _, found = run(tmp_path, "layout", offset)
    assert [r["count"] for r in of(found, "c10d_allreduce")] == [2 * (3 + i) for i in range(6)] + [7]
    assert {r["datatype"] for r in of(found, "c10d_allreduce")} == {"float32"}
    assert {r["reduction"] for r in of(found, "c10d_allreduce")} == {"sum"}
    assert all(r["flags"] in ("none", "synchronous") for r in of(found, "c10d_allreduce"))


@pytest.mark.parametrize("offset", [40, 88, 104])
def test_an_unknown_layout_is_not_read(tmp_path, offset):
    _, found = run(tmp_path, "layout", offset)
    calls = of(found, "c10d_allreduce")
    assert len(calls) == 7
    assert {(r["count"], r["datatype"], r["flags"]) for r in calls} == {(0, "unknown", "unread")}


def test_what_the_library_lacks_is_recorded_once(tmp_path):
    """The stub has no reducer, nor broadcasts; it has all-reduces, and groups on Gloo only."""
    _, found = run(tmp_path, "layout", 56)
    missing = [record["name"] for record in of(found, "function_missing")]
    assert len(missing) == len(set(missing)), missing
    assert {"reducer_gradient", "reducer_end", "c10d_broadcast"} <= set(missing), missing
    assert not set(missing) & {"c10d_allreduce", "make_group", "make_nccl_group", "make_old_prefix"}, missing


def test_exceptions_pass(tmp_path):
    printed, found = run(tmp_path, "throws")
    assert printed.splitlines() == ["caught no tensor", "caught timed out"] * 3
    assert [r["result"] for r in of(found, "c10d_allreduce")] == ["threw", "success"] * 3 + ["success"]
    assert [r["result"] for r in of(found, "c10d_wait")] == ["threw"] * 3 + ["success"]
    assert not [r for r in found if r.inside and r.call.startswith("c10d")]


def test_what_is_left_by_longjmp_is_over(tmp_path):
    _, found = run(tmp_path, "leaves")
    assert len(of(found, "c10d_barrier")) == 3
    assert [(r["count"], r.inside) for r in of(found, "c10d_allreduce")] == [(4, False)]
    assert len(of(found, "c10d_wait")) == 1


def test_each_library_calls_its_own(tmp_path):
    printed, _ = run(tmp_path, "two", FOLDER / "libtorch_stub_1.so", FOLDER / "libtorch_stub_2.so")
    assert printed.splitlines() == ["library 1: 1", "library 2: 2"]


def test_by_name_a_program_finds_what_it_has(tmp_path):
    printed, _ = run(tmp_path, "finds")
    assert [line.split()[1] for line in printed.splitlines()] == ["libtorch_stub.so"] * 2 + ["nowhere"] * 2


def test_a_program_without_pytorch_does_not_see_its_functions(tmp_path):
    symbols = re.findall(r"^DDPSCOPE_TORCH\w*\((\w+),", (pathlib.Path(__file__).parents[2] / "injector/torch/functions.def").read_text(), re.M)
    script = "import ctypes, sys; all = ctypes.CDLL(None); " \
             "print([name for name in sys.argv[1:] if hasattr(all, name) or all.dlsym(None, name.encode())])"
    code, printed = traces.start([sys.executable, "-c", script, *symbols], tmp_path / "cwd", traces.INJECTOR, tmp_path / "trace")
    assert (code, printed.strip()) == (0, "[]") and len(symbols) > 50


def test_a_program_without_pytorch_has_no_such_records(tmp_path):
    code, _ = traces.start(["/bin/sh", "-c", "echo x > file"], tmp_path / "cwd", traces.INJECTOR, tmp_path / "trace")
    assert code == 0
    assert not [call for call in collections.Counter(r.call for r in records.read(tmp_path / "trace")) if call.startswith("c10d")]
