"""What PyTorch's wheel wants of CUDA's libraries, and the stand-ins export. A name that is new in a wheel fails here."""
import functools
import pathlib
import re
import subprocess

import ddpscope
import pytest
import wheel

STANDIN = ddpscope.BUILD / "lib" / "standin"
NVML_MODULE = pathlib.Path(__file__).parents[2] / ".venv" / "nvml"

# By library: how its functions are called. CUDA's other libraries (cublas, cudnn) have a lower-case letter there.
PREFIXES = {"libcudart.so.*": r"(__)?cuda[A-Z]", "libnccl.so.2": r"(p)?nccl[A-Z]", "libcupti.so.*": r"cupti[A-Z]",
            "libcuda.so.1": r"cu(?!File)[A-Z]", "libnvidia-ml.so.1": r"nvml[A-Z]"}
each_library = pytest.mark.parametrize("library", PREFIXES)


def symbols(path, which):
    listing = subprocess.run(["nm", "--dynamic", which, path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines()}


@functools.cache
def imports():
    """What the wheel's libraries do not find in each other."""
    wanted, own = set(), set()
    for path in wheel.libraries().glob("*.so*"):
        wanted |= symbols(path, "--undefined-only")
        own |= symbols(path, "--defined-only")
    return wanted - own


def exported(library):
    paths = list(STANDIN.glob(library))
    if not paths:
        pytest.skip(f"no stand-in of {library} in this build")
    return set().union(*(symbols(path, "--defined-only") for path in paths))


def of_library(names, library):
    return {name for name in names if re.match(PREFIXES[library], name)}


@each_library
def test_every_import_is_exported(library):
    wanted = of_library(imports(), library)
    assert wanted or library == "libnvidia-ml.so.1"  # looked up by name only
    assert wanted - exported(library) == set()


@pytest.mark.parametrize("library", ["libcuda.so.1", "libnvidia-ml.so.1"])
def test_every_name_that_the_allocator_looks_up_is_exported(library):
    """c10 has a table of names of the driver and of NVML, which it asks for one by one."""
    text = (wheel.libraries() / "libc10_cuda.so").read_bytes()
    names = {name.decode() for name in re.findall(rb"(?<=\0)((?:cu|nvml)[A-Z][A-Za-z0-9_]{4,}[A-Za-z0-9])(?=\0)", text)}
    wanted = of_library(names, library)
    assert wanted, "the table is not where it was"
    assert wanted - exported(library) == set()


def test_the_stand_ins_are_those_that_are_used(tmp_path):
    """Not the libraries of NVIDIA's wheels, which lie where PyTorch's RPATH points."""
    script = """
import torch
assert torch.cuda.is_available() and torch.cuda.device_count() >= 8
print(torch.ones(2, 3, device="cuda").sum().item(), torch.cuda.get_device_name())
"""
    (tmp_path / "script.py").write_text(script)
    done = ddpscope.record([wheel.python(), tmp_path / "script.py"], tmp_path / "trace", tmp_path, cpu=True)
    assert done.code == 0, done.stderr[-4000:]
    assert done.stdout.startswith("6.0 "), done.stdout


def test_operators_that_are_not_replaced_fail(tmp_path):
    """Python that reads no PYTHONPATH has PyTorch's own kernels, of which none can run here."""
    script = "import torch\nprint(torch.ones(2, 3, device='cuda').sum().item())"
    done = ddpscope.record([wheel.python(), "-I", "-c", script], tmp_path / "trace", tmp_path, cpu=True)
    assert done.code != 0 and done.stdout == "", done
    assert "PyTorch's operators are not replaced in this process" in done.stderr, done.stderr[-4000:]


def test_nvml_answers_pytorch_as_on_a_gpu(tmp_path):
    """Devices are counted without CUDA, memory is CUDA's, measurements are refused. Device 0 is the host's device 2."""
    if not (NVML_MODULE / "pynvml.py").exists():
        pytest.skip("no nvidia-ml-py: bash cmake/install_dependencies.sh")
    script = f"""
import sys
sys.path.append({str(NVML_MODULE)!r})
import torch
import torch.cuda as cuda
assert cuda.is_available() and cuda.device_count() == 2
assert not cuda.is_initialized() and not torch._C._cuda_isInBadFork()
memory = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
free, total = cuda.mem_get_info()
assert cuda.device_memory_used() == total - free >= 1 << 20, cuda.device_memory_used()
assert cuda.device_memory_used(1) == 0
import pynvml
assert pynvml.nvmlDeviceGetCount() == 8
theirs = pynvml.nvmlDeviceGetHandleByIndex(2)
assert pynvml.nvmlDeviceGetUUID(theirs) == f"GPU-{{cuda.get_device_properties(0).uuid}}"
assert [process.usedGpuMemory for process in pynvml.nvmlDeviceGetComputeRunningProcesses(theirs)] == [total - free]
for measure in cuda.utilization, cuda.memory_usage, cuda.temperature, cuda.power_draw, cuda.clock_rate:
    try:
        print(measure.__name__, measure())
    except pynvml.NVMLError_NotSupported:
        pass
try:
    torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError as error:
    print("this process has" in str(error))
"""
    (tmp_path / "script.py").write_text(script)
    done = ddpscope.record([wheel.python(), tmp_path / "script.py"], tmp_path / "trace", tmp_path, cpu=True,
                           env={"PYTORCH_NVML_BASED_CUDA_CHECK": "1", "CUDA_VISIBLE_DEVICES": "2,5"})
    assert done.code == 0, done.stderr[-4000:]
    assert done.stdout == "True\n", done.stdout
    refused = re.findall(r"standin libnvidia-ml: (\w+) is not provided", done.stderr)
    assert sorted(refused) == ["nvmlDeviceGetClockInfo", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTemperature",
                               "nvmlDeviceGetUtilizationRates"], done.stderr[-4000:]


def test_expandable_segments(tmp_path):
    """The allocator maps memory piece by piece, gives it back, runs out of it, and shares it with another process."""
    script = tmp_path / "segments.py"
    script.write_text("import torch, torch.multiprocessing as mp\n"
                      "def double(queue, done):\n"
                      "    tensor = queue.get()\n"
                      "    tensor.mul_(2)\n"
                      "    torch.cuda.synchronize()\n"
                      "    done.set()\n"
                      "if __name__ == '__main__':\n"
                      "    rows = [torch.full((1 << 20,), float(i), device='cuda') for i in range(40)]\n"
                      "    print('sum', sum(row.sum().item() for row in rows) / (1 << 20))\n"
                      "    print('segments', torch.cuda.memory_stats()['segment.all.allocated'])\n"
                      "    held = torch.cuda.memory_reserved()\n"
                      "    del rows[1:]\n"
                      "    torch.cuda.empty_cache()\n"
                      "    print('given back', held - torch.cuda.memory_reserved() >= 100 << 20)\n"
                      "    try:\n"
                      "        torch.empty(20 << 30, dtype=torch.uint8, device='cuda')\n"
                      "    except torch.OutOfMemoryError:\n"
                      "        print('out of memory')\n"
                      "    context = mp.get_context('spawn')\n"
                      "    queue, done = context.Queue(), context.Event()\n"
                      "    other = context.Process(target=double, args=(queue, done))\n"
                      "    other.start()\n"
                      "    shared = torch.full((3,), 4.0, device='cuda')\n"
                      "    queue.put(shared)\n"
                      "    done.wait()\n"
                      "    print('shared', shared.tolist())\n"
                      "    other.join()\n")
    done = ddpscope.record([wheel.python(), script], tmp_path / "trace", tmp_path, cpu=True,
                           env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
    assert done.code == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == ["sum 780.0", "segments 0", "given back True", "out of memory", "shared [8.0, 8.0, 8.0]"], done.stdout


def test_pytorchs_profiler_sees_kernels(tmp_path):
    script = """
import torch
from torch.profiler import ProfilerActivity, profile
x = torch.randn(64, 64, device="cuda")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
    torch.relu(x @ x)
    torch.cuda.synchronize()
kernels = [event for event in seen.events() if event.device_type == torch.autograd.DeviceType.CUDA]
print(*sorted(event.name for event in kernels if event.time_range.elapsed_us() > 0))
"""
    (tmp_path / "script.py").write_text(script)
    done = ddpscope.record([wheel.python(), tmp_path / "script.py"], tmp_path / "trace", tmp_path, cpu=True)
    assert done.code == 0, done.stderr[-4000:]
    assert done.stdout.split() == ["aten::mm", "aten::relu"], done.stdout + done.stderr[-2000:]
