"""The NVTX ranges of the stand-in NCCL: those of NVIDIA's, as far as they can be had without a GPU; payloads."""

import os
import struct
import subprocess
from pathlib import Path

import pytest

from nccl_test import STANDINS, Job

BUILD = Path(os.environ["DDPSCOPE_BUILD"])
TOOL = str(BUILD / "lib/tests/libnvtx_tool.so")
STATIC = 1 << 24  # where NVTX's static schema ids begin


def lines_of(log: Path, process):
    path = log.with_name(f"{log.name}.{process.pid}")
    return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def told(tmp_path):
    """What the tool is told of nccl_without_communicator with these libraries in front."""
    def run(preload, **environment):
        program = subprocess.Popen([BUILD / "bin/nccl_without_communicator"], stdout=subprocess.DEVNULL,
                                   env={**os.environ, "LD_PRELOAD": preload, "NVTX_INJECTION64_PATH": TOOL,
                                        "NVTX_LOG": str(tmp_path / "log"), **environment})
        assert program.wait(timeout=120) == 0
        return lines_of(tmp_path / "log", program)

    return run


def test_ranges_are_those_of_nvidias_nccl(told):
    real = told("")
    assert len([line for line in real if line.startswith("push ")]) == 21, real
    assert told(STANDINS) == real


def test_switched_off_by_nccls_variable(told):
    assert told(STANDINS, NCCL_NVTX_DISABLE="1") == []


@pytest.fixture
def ranks(tmp_path):
    def run(size, scenario):
        job = Job(tmp_path, size, "nccl_profiled", scenario, NVTX_LOG=str(tmp_path / "log"),
                  NVTX_INJECTION64_PATH=TOOL)
        codes, errors = job.end()
        assert codes == [0] * size, "".join(errors)
        return [lines_of(tmp_path / "log", rank) for rank in job.ranks]

    return run


def payload(line, layout):
    """The schema's number and the fields of the payload at the end of a line, which has no padding."""
    schema, data = line.split()[-2:]
    return int(schema) - STATIC, struct.unpack(layout, bytes.fromhex(data))


def only(lines, begin):
    [line] = [line for line in lines if line.startswith(begin)]
    return line


def test_payloads_name_the_communicator(ranks):
    both = ranks(2, "all-calls")
    hashes = []
    for rank, lines in enumerate(both):
        creation = lines.index("push ncclCommInitRankConfig")
        end = next(line for line in lines[creation:] if line.startswith("pop"))
        schema, (world, size, own, device) = payload(end, "=Qiii")
        assert (schema, size, own, device) == (11, 2, rank, rank) and world != 0
        hashes.append(world)

        reductions = [line for line in lines if line.startswith("push ncclAllReduce ")]
        assert payload(reductions[0], "=QQi") == (5, (world, 400, 2))
        assert payload(reductions[1], "=QQi") == (5, (world, 200, 0))
        half = payload(reductions[2], "=QQi")[1][0]
        assert half not in (0, world)
        assert payload(only(lines, "push ncclSend "), "=QQi") == (9, (world, 40, 1 - rank))
        assert payload(only(lines, "push ncclReduce "), "=QQii") == (8, (world, 400, 1, 0))

        split = lines.index("push ncclCommSplit")
        end = next(line for line in lines[split:] if line.startswith("pop"))
        assert payload(end, "=QQiiiii") == (13, (half, world, 2, rank, rank, rank, 0))
        destroyed = [payload(line, "=Qiii") for line in lines if line.startswith("push ncclCommDestroy ")]
        assert destroyed == [(2, (half, 1, 0, rank)), (2, (world, 2, rank, rank))]
        assert len([line for line in lines if line.startswith("push")]) == len(
            [line for line in lines if line.startswith("pop")])
    assert hashes[0] == hashes[1]
