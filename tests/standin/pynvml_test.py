"""The stand-in for NVML through Python's module, found as `run --cpu` has it found, by LD_LIBRARY_PATH alone."""
import ctypes
import os
import subprocess
import sys

import ddpscope
import pytest

pynvml = pytest.importorskip("pynvml")

STANDIN = ddpscope.BUILD / "lib" / "standin"
# What programs ask for that a CPU does not have.
MEASUREMENTS = ["nvmlDeviceGetUtilizationRates(gpu)", "nvmlDeviceGetPowerUsage(gpu)", "nvmlDeviceGetFanSpeed(gpu)",
                "nvmlDeviceGetTemperature(gpu, NVML_TEMPERATURE_GPU)", "nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_SM)",
                "nvmlDeviceGetTotalEnergyConsumption(gpu)", "nvmlDeviceGetEnforcedPowerLimit(gpu)",
                "nvmlDeviceGetPcieThroughput(gpu, NVML_PCIE_UTIL_TX_BYTES)", "nvmlDeviceGetEncoderUtilization(gpu)"]


def answers(expressions, **environment):
    """What the expressions give in a process of their own; an error of NVML by its class."""
    code = """
import sys
from pynvml import *
nvmlInit()
gpu, other = (nvmlDeviceGetHandleByIndex(i) for i in (1, 2))
for expression in sys.argv[1:]:
    try:
        print(repr(eval(expression)))
    except NVMLError as error:
        print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code, *expressions], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LD_LIBRARY_PATH": str(STANDIN), **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_devices_are_those_of_the_host():
    asked = ["nvmlDeviceGetCount()", "nvmlDeviceGetName(gpu)", "nvmlDeviceGetUUID(gpu)",
             "nvmlDeviceGetIndex(nvmlDeviceGetHandleByUUID(nvmlDeviceGetUUID(gpu)))", "nvmlDeviceGetPciInfo(gpu).busId",
             "nvmlDeviceGetIndex(nvmlDeviceGetHandleByPciBusId('0000:02:00.0'))",
             "nvmlDeviceGetCudaComputeCapability(gpu)", "int(nvmlSystemGetDriverVersion().split('.')[0]) >= 580"]
    said, errors = answers(asked, CUDA_VISIBLE_DEVICES="3", STANDIN_DEVICES="4")
    assert said == ["4", "'CPU stand-in for CUDA'", "'GPU-43505520-7374-616e-642d-696e20646501'", "1", "'00000000:02:00.0'",
                    "1", "(8, 0)", "True"]
    assert errors == ""


def test_structures_are_laid_out_as_the_module_reads_them():
    asked = ["[nvmlDeviceGetMemoryInfo(gpu).total, nvmlDeviceGetMemoryInfo(gpu).used]",
             "nvmlDeviceGetMemoryInfo(gpu, version=nvmlMemory_v2).free", "nvmlDeviceGetComputeRunningProcesses(gpu)",
             "nvmlDeviceGetGraphicsRunningProcesses(gpu)", "nvmlDeviceGetTopologyCommonAncestor(gpu, other)",
             "[nvmlDeviceGetIndex(near) for near in nvmlDeviceGetTopologyNearestGpus(gpu, NVML_TOPOLOGY_SYSTEM)]",
             "nvmlDeviceGetP2PStatus(gpu, other, NVML_P2P_CAPS_INDEX_NVLINK)"]
    said, errors = answers(asked, STANDIN_DEVICES="4")
    assert said == [f"[{16 << 30}, 0]", f"{16 << 30}", "[]", "[]", f"{pynvml.NVML_TOPOLOGY_SYSTEM}", "[0, 2, 3]",
                    f"{pynvml.NVML_P2P_STATUS_NOT_SUPPORTED}"]
    assert errors == ""


def test_a_measurement_is_refused_as_by_a_gpu_without_the_sensor():
    said, errors = answers(MEASUREMENTS * 2)
    assert set(said) == {"NVMLError_NotSupported"}
    assert len(errors.splitlines()) == len(MEASUREMENTS) and errors.count("is not provided") == len(MEASUREMENTS), errors


def test_parts_that_are_absent_are_refused_in_silence():
    said, errors = answers(["nvmlDeviceGetEccMode(gpu)", "nvmlDeviceGetNvLinkState(gpu, 0)", "nvmlDeviceGetMigMode(gpu)",
                            "nvmlDeviceGetGpuFabricInfoV(gpu, byref(c_nvmlGpuFabricInfoV_t()))"])
    assert set(said) == {"NVMLError_NotSupported"} and errors == ""


def test_another_runtime_has_no_devices(tmp_path):
    """A libcudart.so.13 that is not ours, as where NVIDIA's is loaded."""
    (tmp_path / "empty.c").write_text("")
    other = tmp_path / "libcudart.so.13"
    subprocess.run(["cc", "-shared", "-Wl,-soname,libcudart.so.13", "-o", other, tmp_path / "empty.c"], check=True)
    code = """
import pynvml
try:
    pynvml.nvmlInit()
except pynvml.NVMLError_DriverNotLoaded:
    print("no driver")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LD_PRELOAD": str(other), "LD_LIBRARY_PATH": str(STANDIN)})
    assert done.stdout == "no driver\n" and "does not use the stand-in" in done.stderr, done.stderr


def test_every_function_of_the_module_is_there():
    """Of the module that belongs to the header's version of CUDA."""
    library = ctypes.CDLL(str(STANDIN / "libnvidia-ml.so.1"))
    text = open(pynvml.__file__, encoding="utf-8").read()
    names = {part.split('"')[0] for part in text.split('_nvmlGetFunctionPointer("')[1:]}
    assert len(names) > 200
    assert {name for name in names if not hasattr(library, name)} == set()
