"""Programs that capture graphs: nothing that we do breaks a capture, and what was captured is told from what ran."""
import os
import re
import subprocess

import pytest

import records
from traces import BUILD

GUEST = BUILD / "bin" / "inject" / "captures_guest"
MODES = ["global", "thread-local", "relaxed"]


@pytest.fixture
def run(tmp_path):
    def recorded(mode, timing, **more):
        trace = tmp_path / "trace"
        environment = {key: text for key, text in os.environ.items() if not key.startswith("DDPSCOPE_")}
        done = subprocess.run([BUILD / "bin" / "ddpscope", "run", "--cpu", "--gpu-timing", timing, "-o", trace, "--", GUEST, mode],
                              cwd=tmp_path, text=True, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment | more)
        assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
        return trace
    return recorded


def untimed(trace):
    info = subprocess.run([BUILD / "bin" / "ddpscope", "info", trace], text=True, stdout=subprocess.PIPE, check=True).stdout
    return sum(map(int, re.findall(r"device_work_untimed (\d+)", info)))


@pytest.mark.parametrize("timing", ["none", "events", "profiler", "cupti"])
@pytest.mark.parametrize("mode", MODES)
def test_the_capture_lives_and_is_told(run, mode, timing):
    trace = run(mode, timing)
    all_records = list(records.read(trace))

    def calls(name):
        return [record for record in all_records if record.call == name]

    assert [end["result"] for end in calls("cudaStreamEndCapture")] == [0]
    [end], [made], launches = calls("cudaStreamEndCapture"), calls("cudaGraphInstantiate"), calls("cudaGraphLaunch")
    assert end["event"] == made["graph"] and made["result"] == 0
    assert {launch["event"] for launch in launches} == {made["executable"]} and len(launches) == 50

    reductions = calls("ncclAllReduce")
    assert [record["sequence"] for record in reductions] == list(range(25))  # each called once
    notes = calls("call_captured")
    assert [note["sequence"] for note in notes] == [20, 21, 22, 23]
    assert {note["capture"] for note in notes} == {end["flags"]} != {0}
    assert [note["stream"] for note in notes] == [record["stream"] for record in reductions[20:24]]

    if timing in ("events", "profiler"):  # what was captured has no times, which is counted
        assert {work["sequence"] for work in records.device_work(trace)} == {*range(20), 24}
    assert untimed(trace) == (4 if timing in ("events", "profiler") else 0)
    if timing == "cupti":  # each launch runs three kernels of NCCL (a group is one), a fill and a copy
        callers = [work["call"] for work in records.device_work(trace)]
        assert callers.count("cudaGraphLaunch") == 50 * 5
        assert callers.count("ncclAllReduce") == 21


@pytest.mark.parametrize("nccl, version, tier", [("22602", "3", "profiler"), ("22707", "4", "profiler"), ("22809", "5", "profiler"),
                                                 ("22901", "6", "profiler"), ("23102", "6", "events")])
def test_what_is_captured_is_counted_once_whether_or_not_nccl_says_so(run, nccl, version, tier):
    trace = run("global", "profiler", STANDIN_NCCL_VERSION=nccl, STANDIN_PROFILER_VERSION=version)
    assert [record["tier"] for record in records.read(trace) if record.call == "device_timing"] == [tier]
    timed = [work["sequence"] for work in records.device_work(trace)]
    assert sorted(timed) == [*range(20), 24] and untimed(trace) == 4
