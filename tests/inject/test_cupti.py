"""Device work by CUPTI: linked to its calls, and CUPTI is the program's as soon as the program wants it. Each story is
a function of cupti_guest.cpp; CUPTI is the stand-in, which serves one client as NVIDIA's does."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

import records

sys.path.append(str(pathlib.Path(__file__).parent / "traps"))
import recording
from traces import BUILD

GUEST = BUILD / "bin" / "inject" / "cupti_guest"


def told(output):
    return [(word, int(number)) for word, number in re.findall(r"(\w+) (-?\d+)", output)]


class Run:
    def __init__(self, folder, story, tier="cupti", **environment):
        self.trace = folder / "trace"
        self.done = subprocess.run(
            [str(word) for word in (BUILD / "bin" / "ddpscope", "run", "--cpu", "--gpu-timing", tier, "-o", self.trace,
                                    "--", GUEST, story)],
            cwd=folder, text=True, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={key: text for key, text in os.environ.items() if not key.startswith("DDPSCOPE_")} | environment)
        self.records = records.read(self.trace)
        self.work = records.device_work(self.trace)

    def tiers(self):
        return [(record["tier"], record["reason"]) for record in self.records if record.call == "device_timing"]

    def kernels(self):
        return [work for work in self.work if work.kind == "kernel"]

    def told(self):
        return told(self.done.stdout)


@pytest.fixture
def run(tmp_path):
    def start(story, **environment):
        guest = Run(tmp_path, story, **environment)
        assert guest.done.returncode == 0, guest.done.stderr
        return guest
    return start


def test_kernels_copies_and_fills_are_linked_to_their_calls(run):
    guest = run("alone")
    assert guest.tiers() == [("cupti", "-")]
    assert sorted(work.kind for work in guest.work) == ["copy_to_device", "fill"] + 5 * ["kernel"]
    expected = {"copy_to_device": "cudaMemcpyAsync", "fill": "cudaMemsetAsync", "kernel": "ncclAllReduce"}
    assert all(work["call"] == expected[work.kind] for work in guest.work)
    calls = [record.begin for record in guest.records if record.call == "ncclAllReduce"]
    assert [float(work["at"]) for work in guest.kernels()] == pytest.approx(calls, abs=1e-8)
    assert all(work.begin > float(work["at"]) for work in guest.work)
    assert all(earlier.end <= later.begin for earlier, later in zip(guest.work, guest.work[1:]))  # one stream


def test_a_library_may_call_cuda_when_the_variables_of_the_main_thread_are_gone(run):
    guest = run("library_at_the_end")
    fills = [work["call"] for work in guest.work if work.kind == "fill"]
    assert fills == ["cudaMemsetAsync"] + 3 * ["cudaMemset"]


def test_a_call_on_the_device_takes_32_bytes(run):
    guest = run("alone")
    header = 64  # of a chunk
    used = 0
    for file in guest.trace.glob("*.ddps"):
        content = file.read_bytes()
        chunks = [content[at:at + header] for at in range(4096, len(content), 4096)]
        used += sum(int.from_bytes(chunk[12:16], "little") for chunk in chunks
                    if chunk[:4] == b"CHNK" and chunk[4] in (6, 7))
    assert used == 32 * len(guest.work) > 0


def run_mutant(folder, story, source, *changes):
    library = recording.build_mutant([(source, *change) for change in changes], [source])
    standins = BUILD / "lib" / "standin"
    guest, trace = recording.run([GUEST, story], folder, injector=library,
                                 after=[standins / "libcudart.so.13", standins / "libnccl.so.2"],
                                 environment={"LD_LIBRARY_PATH": str(standins), "DDPSCOPE_GPU_TIMING": "cupti"})
    assert guest.returncode == 0, guest.stderr
    return guest, trace


INCLUDE, SUBSCRIBES, DECIDES = ('#include "injector/core/hook.h"', "CUptiResult result = real_cupti(behind::cuptiSubscribe, ",
                                "Decision decided = decision(file, occasion);")
WAITING = [(INCLUDE, f"#include <unistd.h>\n{INCLUDE}")]


@pytest.mark.parametrize("story, source, change", [
    ("client_just_before", "cupti_hooks.cpp", (SUBSCRIBES, f"usleep(300'000); {SUBSCRIBES}")),
    ("client_just_behind", "timing.cpp", (DECIDES, f"{DECIDES} usleep(300'000);"))])
def test_a_client_that_comes_while_we_do_has_cupti(tmp_path, story, source, change):
    """The moment between two of our steps is made long."""
    guest, _ = run_mutant(tmp_path, story, f"injector/device_times/{source}", *WAITING, change)
    assert told(guest.stdout) == [("subscribe", 0)]
    tiers = [(record["tier"], record["reason"]) for record in records.read(tmp_path / "trace") if record.call == "device_timing"]
    assert tiers == [("events", "the program uses CUPTI itself")]
    assert [work.kind for work in records.device_work(tmp_path / "trace")].count("collective") == 5


def test_our_calls_leave_the_program_no_error(run):
    assert run("last_error").told() == [("error", 0)]


def test_what_cupti_drops_is_counted(tmp_path):
    """A client that has no memory gives CUPTI no buffer."""
    trace = run_mutant(tmp_path, "alone", "injector/device_times/cupti_buffers.cpp",
                       ("std::uint8_t* take_cupti_buffer() {", "std::uint8_t* take_cupti_buffer() { return nullptr;"))[1]
    assert not records.device_work(tmp_path / "trace") and trace.health["device_work_dropped"] >= 7


def test_a_child_that_is_the_first_to_use_cuda_has_cupti(run):
    guest = run("child_alone")
    assert guest.told() == [("child", 0)] and guest.tiers() == [("cupti", "-")] and len(guest.kernels()) == 5


def test_the_reason_is_cuptis_own(run):
    guest = run("child_of_a_caller")
    assert guest.told() == [("child", 0)]
    assert guest.tiers() == [("events", "CUPTI refused the subscription: CUPTI_ERROR_NOT_INITIALIZED")]
    assert [work.kind for work in guest.work] == 5 * ["collective"]


def test_a_client_that_was_there_before_keeps_cupti(run):
    guest = run("client_first")
    assert guest.told() == [("subscribe", 0), ("kernels", 5)]
    (tier, reason), = guest.tiers()
    assert tier == "events" and "program uses CUPTI itself" in reason
    assert [work.kind for work in guest.work] == 5 * ["collective"]


# Collectives: 5 while the client is there, 6 when it has gone, 7 when it has come again.
def test_a_client_that_was_there_before_leaves_cupti_to_us_when_it_goes(run):
    guest = run("client_first_that_goes")
    assert guest.told() == [("subscribe", 0), ("kernels", 5), ("kernels", 7)]
    assert guest.tiers() == [("events", "the program uses CUPTI itself"), ("cupti", "the other client of CUPTI has gone"),
                             ("events", "the program uses CUPTI itself")]
    assert [work.kind for work in guest.work if work.kind in ("collective", "kernel")] == (
        5 * ["collective"] + 6 * ["kernel"] + 7 * ["collective"])


@pytest.mark.parametrize("story", ["client_gone_before", "client_first_without_subscription"])
def test_a_client_before_has_gone_when_one_that_comes_later_would_have(run, story):
    guest = run(story)
    assert [tier for tier, _ in guest.tiers()] == ["events", "cupti"]
    assert len(guest.kernels()) == 6 and all(work["call"] == "ncclAllReduce" for work in guest.kernels())


def test_a_client_that_was_there_before_and_stays_subscribed_keeps_cupti(run):
    guest = run("client_first_that_stays_subscribed")
    assert guest.told() == [("subscribe", 0), ("kernels", 5)]
    assert guest.tiers() == [("events", "the program uses CUPTI itself")] and len(guest.work) == 5 + 6


@pytest.mark.parametrize("story, subscribed, reason", [
    ("hidden_client_first", 1, "another client has subscribed to CUPTI"),
    ("hidden_client_after_a_seen_one", 2, "the program uses CUPTI itself")])
def test_a_client_that_no_hook_sees_never_meets_us(run, story, subscribed, reason):
    """It comes again as unseen: what CUPTI would refuse or hand it then were our doing."""
    guest = run(story)
    assert guest.told() == subscribed * [("subscribe", 0)] + [("kernels", 5), ("subscribe", 0), ("kernels", 7)]
    assert guest.tiers() == [("events", reason)] and len(guest.work) == 5 + 6 + 7


def test_cupti_is_lent_and_taken_again(run):
    guest = run("client_later")
    # The program finds what it would find alone, also the second time.
    assert guest.told() == [("subscribe", 0), ("kernels", 4), ("kernels", 6)]
    assert [tier for tier, _ in guest.tiers()] == ["cupti", "events", "cupti", "events"]
    sequences = {"kernel": [], "collective": []}
    calls = {record.begin: record["sequence"] for record in guest.records if record.call == "ncclAllReduce"}
    for work in guest.work:
        if work.kind == "kernel":
            at = min(calls, key=lambda begin: abs(begin - float(work["at"])))
            sequences["kernel"].append(calls[at])
        elif work.kind == "collective":
            sequences["collective"].append(work["sequence"])
    assert sequences["kernel"] == [0, 1, 2] + list(range(7, 12))
    assert sequences["collective"] == [3, 4, 5, 6] + list(range(12, 18))


def test_a_client_that_never_subscribes_has_gone_when_it_has_flushed_what_it_disabled(run):
    guest = run("client_without_subscription")
    assert guest.told() == [("kernels", 4), ("kernels", 6)]
    assert [tier for tier, _ in guest.tiers()] == ["cupti", "events", "cupti", "events"]
    assert len(guest.kernels()) == 3 + 5


def test_a_client_that_only_flushes_keeps_cupti(run):
    assert [tier for tier, _ in run("client_that_only_flushes").tiers()] == ["cupti", "events"]


def test_a_client_that_looks_in_the_librarys_own_handle_is_seen(run):
    guest = run("client_by_handle")
    assert guest.told() == [("kernels", 4)]
    assert [tier for tier, _ in guest.tiers()] == ["cupti", "events"]
    assert len(guest.kernels()) == 3


def alone(story):
    """What the program tells unrecorded."""
    standins = BUILD / "lib" / "standin"
    done = subprocess.run([GUEST, story], text=True, timeout=120, stdout=subprocess.PIPE, check=True,
                          env={**os.environ, "LD_PRELOAD": f"{standins}/libcudart.so.13:{standins}/libnccl.so.2",
                               "LD_LIBRARY_PATH": str(standins)})
    return told(done.stdout)


def by_function(calls):
    return {re.sub(r"_v\d{4,}$", "", name): times for name, times in calls}


COLLECTIVES = 40
IN_ALL_TIERS = {"cudaGetDevice": 1, "cudaPointerGetAttributes": 1}
BY_EVENTS = {"cudaPeekAtLastError": 2, "cudaStreamIsCapturing": 2, "cudaEventRecord": 2, "cudaEventElapsedTime": 2,
             "cudaEventCreateWithFlags": 2, "cudaEventQuery": 1}  # a collective
FIRST_USE = {"cudaThreadExchangeStreamCaptureMode": 1, "cudaSetDevice": 1, "cudaStreamCreateWithFlags": 1}


def our_calls(run, story, tier):
    """What the program's profile has more of when it is recorded."""
    without = by_function(alone(story))
    seen = by_function(run(story, tier=tier).told())
    assert seen["kernels"] == without["kernels"] == COLLECTIVES
    ours = {name: times - without.get(name, 0) for name, times in seen.items() if times != without.get(name, 0)}
    page = (recording.SOURCE / "docs" / "gpu-times.md").read_text()
    section = page.split("### What the program's own profile shows of us")[1].split("\n## ")[0]
    assert not [name for name in ours if f"`{name}`" not in section]
    return ours


@pytest.mark.parametrize("tier", ["none", "events", "cupti"])
def test_a_clients_profile_has_of_our_calls_what_the_manual_says(run, tier):
    ours = our_calls(run, "client_of_calls", tier)
    expected = dict(IN_ALL_TIERS)
    if tier != "none":
        expected |= {name: times * COLLECTIVES for name, times in BY_EVENTS.items()}
    if tier == "cupti":  # no collective had been timed by events before: the anchor and its stream come now
        expected |= FIRST_USE | {"cudaEventCreateWithFlags": 2 * COLLECTIVES + 2}
    for_anchor = {name: ours.pop(name, 0) - expected.pop(name, 0) for name in ("cudaEventRecord", "cudaEventQuery")}
    assert ours == expected
    assert 0 <= for_anchor["cudaEventRecord"] <= (3 if tier == "cupti" else 0)
    # The device is behind for 300 ms: not each of the communicator's collectives is asked about again and again.
    assert for_anchor["cudaEventQuery"] >= 0 and (tier == "cupti" or for_anchor["cudaEventQuery"] < 4 * COLLECTIVES)


def test_where_another_device_is_current_the_manual_says_so_too(run):
    """The first collective of the thread is not timed."""
    ours = our_calls(run, "client_of_calls_elsewhere", "events")
    timed = COLLECTIVES - 1
    assert (ours["cudaGetDevice"], ours["cudaSetDevice"]) == (IN_ALL_TIERS["cudaGetDevice"] + 1 + 2 * timed, 4 * timed)
    assert ours["cudaPeekAtLastError"] == 1 + 2 * timed and ours["cudaEventElapsedTime"] == 2 * timed


def test_a_client_is_never_given_our_buffers(run):
    """Threads launch while CUPTI is lent; the client frees what CUPTI hands it."""
    assert run("client_among_threads").told() == [("failed", 0)]


def test_a_client_that_keeps_its_kinds_keeps_cupti(run):
    guest = run("client_keeps_its_kinds")
    assert guest.told() == [("subscribe", 0), ("kernels", 9)]
    assert [tier for tier, _ in guest.tiers()] == ["cupti", "events"]


def test_a_client_of_one_context_keeps_cupti_until_it_ends_it(run):
    """Of that context we would get nothing: its setting supersedes ours."""
    guest = run("client_of_a_context")
    assert guest.told() == [("subscribe", 0), ("kernels", 5)]
    assert [tier for tier, _ in guest.tiers()] == ["cupti", "events"]
    assert len([work for work in guest.work if work.kind == "collective"]) == 5 + 6


def test_a_client_of_one_context_that_ends_cupti_has_gone(run):
    guest = run("client_of_a_context_that_ends")
    assert guest.told() == [("subscribe", 0), ("kernels", 5)]
    assert [tier for tier, _ in guest.tiers()] == ["cupti", "events", "cupti"]
    assert len(guest.kernels()) == 3 + 6


def test_each_call_of_the_table_has_a_hook_and_no_other():
    names = subprocess.run(["nm", "-D", "--defined-only", recording.INJECTOR], text=True, stdout=subprocess.PIPE, check=True)
    table = (recording.SOURCE / "injector" / "device_times" / "cupti_calls.def").read_text()
    rows = re.findall(r"^DDPSCOPE_CUPTI_CALL\((\w+)\)$", table, re.MULTILINE)
    assert sorted(rows) == sorted(set(re.findall(r" T (cupti\w+)$", names.stdout, re.MULTILINE))) and len(rows) == 12


def test_what_a_client_leaves_behind_does_no_harm(run):
    """Its clock goes on being CUPTI's, and what it disables when it has gone is not ours."""
    guest = run("client_with_a_clock")
    assert guest.told() == [("subscribe", 0), ("kernels", 4), ("kernels", 0)]
    assert [tier for tier, _ in guest.tiers()] == ["cupti", "events", "cupti"]
    calls = [record.begin for record in guest.records if record.call == "ncclAllReduce"]
    timed = [(float(work["at"]), work.begin) for work in guest.kernels()]
    assert [at for at, _ in timed[-5:]] == pytest.approx(calls[-5:], abs=1e-8) and len(timed) > 3 + 15 + 5
    assert all(0 < begin - at < 0.05 for at, begin in timed)


@pytest.mark.parametrize("variable", ["CUDA_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID"])
def test_under_another_tool_it_steps_aside(run, variable):
    guest = run("alone", **{variable: "/opt/nsight/libToolsInjection64.so"})
    (tier, reason), = guest.tiers()
    assert tier == "events" and "another tool" in reason
    assert [work.kind for work in guest.work] == 5 * ["collective"]
