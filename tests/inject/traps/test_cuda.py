"""CUDA calls as they are recorded; the runtime behind the hooks is the stand-in, which they do not know."""
import fnmatch
import pathlib
import re
import shlex

import recording
from recording import BUILD, TRAPS

# Calls on arrays and blocks, and how many bytes they move, set or obtain.
BLOCKS = {"cudaMallocArray": "256", "cudaMemcpy2DToArray": "16", "cudaMemcpy2DFromArrayAsync": "24", "cudaMemcpy3DPeer": "120",
          "cudaMemcpy3DBatchAsync": "48", "cudaMalloc3D": "64", "cudaMemset3D": "64", "cudaMemset3D_ptds": "32"}
HERE = pathlib.Path(__file__).parent
RUNTIME = BUILD / "lib" / "standin" / "libcudart.so.13"


def test_cuda(tmp_path):
    guest, trace = recording.run([TRAPS / "cuda_guest"], tmp_path, after=[RUNTIME])
    assert guest.returncode == 0, guest.stderr
    one = {call: records[0] for call in {r.call for r in trace.records} if len(records := trace.calls(call)) == 1}
    assert one["cudaSetDevice"]["device"] == "2"
    assert one["device"]["device"] == "2" and int(one["device"]["uuid_low"], 0) != 0
    assert (one["cudaMemcpyAsync"]["count"], one["cudaMemcpyAsync"]["bytes"]) == ("10", "10000")
    assert one["cudaMemcpyAsync"]["kind"] == "device-to-host" and one["cudaMemcpyAsync"]["device"] == "2"
    assert one["cudaEventQuery"]["count"] == "50" and one["cudaEventQuery"]["result"] == "0"
    assert one["cudaMemsetAsync"]["source"] == "0x7"
    assert one["cudaMemcpyAsync_ptsz"]["stream"] == "0x2" and one["cudaStreamSynchronize_ptsz"]["stream"] == "0x2"
    assert one["cudaMemcpy"]["result"] != "0"
    stream, event = one["cudaStreamCreateWithFlags"]["stream"], one["cudaEventCreateWithFlags"]["event"]
    assert one["cudaStreamSynchronize"]["stream"] == stream and one["cudaEventRecord"]["stream"] == stream
    assert one["cudaStreamWaitEvent"]["event"] == one["cudaEventSynchronize"]["event"] == event
    assert trace.calls("cudaFree")[-1]["address"] == one["cudaMalloc"]["address"] != "0x0"
    assert {call: one[call]["bytes"] for call in BLOCKS} == BLOCKS
    assert all(one[call].stack for call in ("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize"))


def test_error_is_the_guests_own(tmp_path):
    """Without any device nothing that we ask leaves an error behind."""
    guest, trace = recording.run([TRAPS / "cuda_guest"], tmp_path, after=[RUNTIME], environment={"CUDA_VISIBLE_DEVICES": ""})
    alone, _ = recording.run([TRAPS / "cuda_guest"], tmp_path, after=[RUNTIME],
                             environment={"CUDA_VISIBLE_DEVICES": "", "DDPSCOPE_DISABLE": "1"})
    assert guest.returncode == alone.returncode == 1


def header():
    command = shlex.split(recording.compile_commands()[str(recording.SOURCE / "injector/cuda/copies.cpp")]["command"])
    folders = [pathlib.Path(word.removeprefix("-I").removeprefix("-isystem")) for word in command]
    return next(folder / "cuda_runtime_api.h" for folder in folders if (folder / "cuda_runtime_api.h").exists()).read_text()


def test_every_function_of_the_runtime_is_recorded_or_explained():
    text = header()
    declared = set(re.findall(r"CUDARTAPI +(cuda\w+)\(", text))
    twins = {name: name + kind.lower() for name, kind in re.findall(r"define +(cuda\w+) +__CUDART_API(_PTSZ|_PTDS)\(", text)}
    recorded = set(re.findall(r"^DDPSCOPE_CALL\(\d+, (\w+),", (recording.SOURCE / "trace/calls.def").read_text(), re.MULTILINE))
    lines = (HERE / "cuda_explained.txt").read_text().splitlines()
    patterns = [pattern for line in lines if not line.startswith("#") for pattern in line.split()]
    assert len(declared) > 250 and len(twins) > 50
    known = recorded | {"cudaGetKernel"}  # listened to
    assert not {name for name in declared - known if not any(fnmatch.fnmatchcase(name, p) for p in patterns)}
    assert not {name for name in known if any(fnmatch.fnmatchcase(name, p) for p in patterns)}, "recorded, and explained why not"
    assert not {p for p in patterns if not fnmatch.filter(declared, p)}, "no such function"
    assert not {twins[name] for name in recorded & set(twins)} - recorded, "only one of the two is recorded"
