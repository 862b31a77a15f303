"""NCCL's profiler interface in every version, another plugin behind ours, and NVTX ranges where no hook sees a call. Each
story is a function of profiler_stories.cpp, bound with the hooks in front ("bound") or past them ("past")."""
import json
import os
import re
import subprocess

import pytest

import records
from traces import BUILD, INJECTOR

GUEST = BUILD / "bin" / "inject" / "profiler_guest"
DDPSCOPE = BUILD / "bin" / "ddpscope"
PLUGINS = BUILD / "lib" / "tests"
ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, ALL_TO_ALL = "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all"
NVTX, PROFILER, BOTH = "nvtx", "profiler", "nvtx|profiler"
KERNEL_VERSIONS = (3, 4, 5, 6)
KERNEL_CHANNEL = "64"


def clean_environment():
    return {key: text for key, text in os.environ.items() if not key.startswith(("DDPSCOPE_", "NCCL_", "STANDIN_"))}


class Run:
    def __init__(self, folder, how, story, timing="profiler", **environment):
        self.folder, self.trace = folder, folder / "trace"
        command = [DDPSCOPE, "run", "--cpu", "--gpu-timing", timing, "-o", self.trace, "--", GUEST, how, story]
        self.done = subprocess.run([str(word) for word in command], cwd=folder, text=True, timeout=120,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment() | environment)
        self.records = records.read(self.trace)
        self.collectives = [work for work in records.device_work(self.trace) if work.kind == "collective"]

    def of(self, *calls):
        return [record for record in self.records if record.call in calls]

    def tiers(self):
        return [(record["tier"], record["reason"]) for record in self.of("device_timing")]

    def told(self, *fields):
        """Of each operation that no hook saw."""
        return [tuple(record[field] for field in fields) for record in self.of("unhooked_collective")]

    def hooked(self):
        return {(record["communicator"], record["sequence"]): record for record in self.records
                if record.call.startswith("nccl") and "sequence" in record}

    def timed(self):
        return {(work["communicator"], work["sequence"]) for work in self.collectives}

    def info(self):
        return subprocess.run([DDPSCOPE, "info", self.trace], text=True, stdout=subprocess.PIPE, check=True).stdout

    def health(self, name):
        return sum(map(int, re.findall(rf"{name} (\d+)", self.info())))

    def report(self):
        done = subprocess.run([DDPSCOPE, "report", self.trace, "--format", "json"], text=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)


@pytest.fixture
def run(tmp_path):
    def start(how, story, code=0, **settings):
        guest = Run(tmp_path, how, story, **settings)
        assert guest.done.returncode == code, guest.done.stderr
        return guest
    return start


@pytest.mark.parametrize("version", KERNEL_VERSIONS)
def test_times_are_those_of_the_programs_own_events(run, version):
    """With the link's model: 20 ms, and 4 MiB at 1 GB/s."""
    guest = run("bound", "peers", STANDIN_PROFILER_VERSION=str(version), STANDIN_LINK="20ms,1GB/s")
    assert guest.tiers() == [("profiler", "-")]
    own = {int(device): float(ms) * 1e-3
           for device, ms in re.findall(r"device (\d) took ([\d.]+) ms", guest.done.stdout)}
    measured = {work["device"]: work for work in guest.collectives if work["sequence"] == 1}
    assert set(own) == set(measured) == {0, 1}
    transfer = 0.020 + (4 << 20) / 1e9
    for device in own:  # the program's pair lies around NCCL's, on a busy machine by far
        assert measured[device].took <= own[device] + 1e-4
        # Version 3 has no timer: when NCCL's thread comes to tell of a begin counts.
        assert measured[device].took >= (transfer - 1e-4 if version > 3 else 0.005)
    assert measured[0].took > measured[1].took + 0.01  # who came last only transfers
    calls = guest.hooked()
    for work in guest.collectives:
        call = calls[work["communicator"], work["sequence"]]
        assert work["call"] == "ncclAllReduce" and float(work["at"]) == pytest.approx(call.begin, abs=1e-9)
        assert work.begin > call.begin - 1e-4


@pytest.mark.parametrize("version", (4, 5))
def test_the_devices_clock_is_known_as_well_as_is_said(run, version):
    """The stand-in's timer is the wall clock."""
    guest = run("bound", "peers", STANDIN_PROFILER_VERSION=str(version))
    start_ns = guest.report()["job"]["start_unix_ns"]
    clocks = guest.of("device_clock")
    assert {clock["device"] for clock in clocks} == {0, 1}
    for clock in clocks:
        off_ns = (clock["device_ns"] - start_ns) - float(clock["host"]) * 1e9
        assert abs(off_ns) <= clock["error_ns"] + 20_000


def test_what_was_known_of_the_devices_clock_goes_on(run):
    """12 s of steps whose calls are all 20 ms ahead of their kernels."""
    guest = run("bound", "ahead")
    start_ns = guest.report()["job"]["start_unix_ns"]
    clocks = guest.of("device_clock")
    for clock in clocks:
        off_ns = (clock["device_ns"] - start_ns) - float(clock["host"]) * 1e9
        assert abs(off_ns) <= clock["error_ns"] + 20_000
    later = [clock["error_ns"] for clock in clocks if clock["device_ns"] != clocks[0]["device_ns"]]
    assert len(later) >= 2 and max(later) < 2_000_000
    [error_us] = re.findall(r"a clock that is right to ([\d.]+) us", guest.info())
    assert float(error_us) < 2_000  # that of the first times, too


@pytest.mark.parametrize("version", KERNEL_VERSIONS)
def test_groups_and_messages_have_times_of_their_own(run, version):
    guest = run("bound", "groups", STANDIN_PROFILER_VERSION=str(version))
    assert guest.timed() == set(guest.hooked()) and len(guest.timed()) == 10
    calls = guest.hooked()
    assert all(work["call"] == calls[work["communicator"], work["sequence"]].call for work in guest.collectives)
    assert not guest.of("unhooked_collective", "unhooked_communicator")


@pytest.mark.parametrize("version", KERNEL_VERSIONS)
def test_communicators_are_told_apart(run, version):
    guest = run("bound", "communicators", STANDIN_PROFILER_VERSION=str(version))
    assert guest.timed() == set(guest.hooked()) and len(guest.timed()) == 8
    assert len({communicator for communicator, _ in guest.timed()}) == 4
    choices = {(choice["communicator"], choice["count"]): choice for choice in guest.of("collective_choice")}
    calls = {(call["communicator"], call["count"]) for call in guest.of("ncclAllReduce")}
    assert set(choices) == calls
    assert {(choice["algorithm"], choice["protocol"], choice["channels"]) for choice in choices.values()} == {("RING", "LL", 1)}
    assert "all-reduce of 10 float32: RING, LL, 1 channel\n" in guest.info()


@pytest.mark.parametrize("version", (1, 2))
def test_old_versions_tell_how_but_not_when(run, version):
    guest = run("bound", "groups", STANDIN_PROFILER_VERSION=str(version))
    [(tier, reason)] = guest.tiers()
    assert tier == "events" and "before 2.26" in reason
    assert guest.timed() and guest.timed() <= set(guest.hooked())
    assert {choice["function"] for choice in guest.of("collective_choice")} == {ALL_REDUCE, BROADCAST}


def test_new_versions_are_slow_to_tell(run):
    guest = run("bound", "groups", STANDIN_PROFILER_VERSION="6", STANDIN_NCCL_VERSION="23102")
    [(tier, reason)] = guest.tiers()
    assert tier == "events" and "2.31" in reason
    assert guest.timed() and guest.timed() <= set(guest.hooked()) and guest.of("collective_choice")


def test_without_the_plugin_it_is_events(run):
    guest = run("bound", "five", NCCL_PROFILER_PLUGIN="none", timing="events")
    assert guest.tiers() == [("events", "-")] and not guest.of("collective_choice")


def test_nccl_that_does_not_take_it(tmp_path, run):
    """As a version before 2.23: nobody introduces a communicator."""
    environment = clean_environment() | {"LD_PRELOAD": preloads(), "LD_LIBRARY_PATH": str(BUILD / "lib" / "standin"),
                                         "DDPSCOPE_TRACE": str(tmp_path / "trace"), "DDPSCOPE_GPU_TIMING": "profiler",
                                         "NCCL_PROFILER_PLUGIN": "none"}
    (tmp_path / "trace").mkdir()
    subprocess.run([GUEST, "bound", "five"], check=True, env=environment, timeout=60)
    [timing] = [record for record in records.read(tmp_path / "trace") if record.call == "device_timing"]
    assert timing["tier"] == "events" and "has not taken the profiler plugin" in timing["reason"]
    assert len(records.device_work(tmp_path / "trace")) == 5


def preloads():
    standins = BUILD / "lib" / "standin"
    return ":".join(map(str, (INJECTOR, standins / "libcudart.so.13", standins / "libnccl.so.2")))


@pytest.mark.parametrize("name", ("STATIC_PLUGIN", str(INJECTOR)))
def test_found_by_either_name(tmp_path, name):
    environment = clean_environment() | {"LD_PRELOAD": preloads(), "LD_LIBRARY_PATH": str(BUILD / "lib" / "standin"),
                                         "DDPSCOPE_TRACE": str(tmp_path / "trace"), "DDPSCOPE_GPU_TIMING": "profiler",
                                         "NCCL_PROFILER_PLUGIN": name}
    (tmp_path / "trace").mkdir()
    subprocess.run([GUEST, "bound", "five"], check=True, env=environment, timeout=60)
    read = records.read(tmp_path / "trace")
    assert [record["tier"] for record in read if record.call == "device_timing"] == ["profiler"]
    assert len(records.device_work(tmp_path / "trace")) == 5


# Another plugin behind ours

def lines(path):
    """Sorted, without times; events are named by their type and their place among those of it."""
    names, types, told = {"0": "-"}, {}, []
    for words in map(str.split, path.read_text().splitlines()):
        if words[0] == "init":
            words[1:2] = []  # the communicator's id: another one in each run
        if words[0] == "start":
            types.setdefault(words[2], []).append(words[1])
            names[words[1]] = f"{words[2]}#{len(types[words[2]])}"
            words[3] = names[words[3]]
            words[5 if words[2] == KERNEL_CHANNEL else len(words):] = []
        if words[0] in ("start", "stop", "record"):
            words[1] = names[words[1]]
        if words[0] == "record":
            words[3:] = []
        told.append(" ".join(words))
    return sorted(told)


def log_of(folder, name, command, **environment):
    """What the plugin was told by a program of one process."""
    done = subprocess.run([str(word) for word in command], cwd=folder, text=True, timeout=120, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=clean_environment() | environment |
                          {"PROFILER_LOG": str(folder / name)})
    assert done.returncode == 0, done.stderr
    logs = list(folder.glob(f"{name}.*"))
    return (lines(logs[0]) if logs else []), done.stderr


def both_logs(folder, plugin, nccl, mask, story="every_function", **more):
    environment = {"PROFILER_MASK": str(mask), "STANDIN_PROFILER_VERSION": str(nccl), "NCCL_DEBUG": "WARN",
                   "NCCL_PROFILER_PLUGIN": str(PLUGINS / f"libnccl-profiler-v{plugin}.so"), **more}
    alone, errors = log_of(folder, "alone", [GUEST, "bound", story],
                           LD_LIBRARY_PATH=str(BUILD / "lib" / "standin"),
                           LD_PRELOAD=":".join(preloads().split(":")[1:]), **environment)
    behind, errors_behind = log_of(folder, "behind", [DDPSCOPE, "run", "--cpu", "--gpu-timing", "profiler", "-o",
                                                      folder / "trace", "--", GUEST, "bound", story], **environment)
    return alone, behind, (errors, errors_behind)


@pytest.mark.parametrize("plugin, nccl", [(1, 1), (1, 2), (2, 3), (1, 4), (3, 4), (4, 4), (1, 5), (2, 5), (3, 5), (4, 5), (5, 5),
                                          (2, 6), (4, 6), (5, 6), (6, 6)])
def test_another_plugin_is_told_the_same(tmp_path, plugin, nccl):
    alone, behind, _ = both_logs(tmp_path, plugin, nccl, mask=4095)
    assert len(alone) > 20 and behind == alone
    assert [record["tier"] for record in records.read(tmp_path / "trace") if record.call == "device_timing"] == [
        "profiler" if nccl >= 3 else "events"]
    timed = [work for work in records.device_work(tmp_path / "trace") if work.kind == "collective"]
    assert len({work["sequence"] for work in timed}) == 7


@pytest.mark.parametrize("mask", (0, 2, 64, 256))
def test_another_plugin_is_told_what_it_wants(tmp_path, mask):
    alone, behind, _ = both_logs(tmp_path, 5, 5, mask=mask)
    assert behind == alone


def test_another_plugin_that_is_too_new(tmp_path):
    alone, behind, _ = both_logs(tmp_path, 6, 5, mask=4095)
    assert alone == behind == []


def test_another_plugin_that_fails(tmp_path):
    alone, behind, (_, errors) = both_logs(tmp_path, 5, 5, mask=4095, PROFILER_FAILS="1")
    assert alone == behind == [] and "failed to initialise. Continue without it" in errors
    assert len(records.device_work(tmp_path / "trace")) == 7


def test_another_plugin_without_a_context_is_not_ended(tmp_path):
    alone, behind, _ = both_logs(tmp_path, 5, 5, mask=0, PROFILER_NO_CONTEXT="1")
    assert alone == behind and len(alone) == 1 and alone[0].startswith("init")


def test_another_plugin_alone_is_left_alone(tmp_path):
    """It was named by the user, and other times were asked for."""
    log, _ = log_of(tmp_path, "log", [DDPSCOPE, "run", "--cpu", "-o", tmp_path / "trace", "--", GUEST, "bound", "five"],
                    PROFILER_MASK="2", NCCL_PROFILER_PLUGIN=str(PLUGINS / "libnccl-profiler-v5.so"))
    assert len([line for line in log if line.startswith("start")]) == 20  # a group, its call, and what they enqueue
    assert [r["tier"] for r in records.read(tmp_path / "trace") if r.call == "device_timing"] == ["events"]


# Ends and copies of the process

@pytest.mark.parametrize("story, code", (("killed", 137), ("ended", 7)))
def test_the_end_loses_nothing(run, story, code):
    guest = run("bound", story, code=code)
    assert [work["sequence"] for work in guest.collectives] == list(range(5))


def test_a_child_of_a_process_without_nccl_is_timed(run):
    guest = run("bound", "fork_before")
    assert guest.done.stdout == "child 0\n" and len(guest.collectives) == 5


def test_a_child_of_a_process_with_nccl_is_left_alone(run):
    guest = run("bound", "fork_after")
    assert guest.done.stdout == "child 0\n" and len(guest.collectives) == 5


@pytest.mark.parametrize("how", ("bound", "past"))
def test_errno_is_the_programs_own(run, how):
    assert run(how, "own_errno").done.stdout == "errno kept\n"


# Where no hook sees the calls

def test_nvtx_tells_of_unhooked_calls(run):
    guest = run("past", "every_function", timing="auto")
    assert not guest.hooked()
    assert guest.told("function", "count", "datatype", "peer", "told_by") == [
        (ALL_REDUCE, 400, "unknown", -1, NVTX), (ALL_GATHER, 400, "unknown", -1, NVTX),
        (REDUCE_SCATTER, 400, "unknown", -1, NVTX), (BROADCAST, 400, "unknown", 0, NVTX),
        (REDUCE, 400, "unknown", 0, NVTX), ("send", 40, "unknown", 0, NVTX), ("receive", 40, "unknown", 0, NVTX)]
    assert guest.told("reduction")[0] == ("max",)
    assert [sequence for sequence, in guest.told("sequence")] == list(range(7))
    [communicator] = guest.of("unhooked_communicator")
    assert (communicator["rank"], communicator["size"]) == (0, 1) and int(str(communicator["id"]), 0)
    assert all(not record.inside for record in guest.of("unhooked_collective"))


def test_nvtx_tells_beside_a_program_that_names_much(run):
    guest = run("past", "many_names", timing="auto")
    assert guest.told("function", "told_by") == 5 * [(ALL_REDUCE, NVTX)]
    assert not guest.of("nvtxRangePush", "nvtxRangePop")


def test_the_profiler_tells_more(run):
    guest = run("past", "every_function", NCCL_NVTX_DISABLE="0")
    assert guest.tiers() == [("profiler", "-")]
    assert guest.told("function", "count", "datatype", "told_by")[:2] == [
        (ALL_REDUCE, 100, "float32", BOTH), (ALL_GATHER, 100, "float32", BOTH)]
    assert all(stream for stream, in guest.told("stream"))
    assert guest.timed() == {(1, sequence) for sequence in range(7)}


@pytest.mark.parametrize("version", range(1, 7))
def test_the_profiler_without_nvtx(run, version):
    guest = run("past", "every_function", NCCL_NVTX_DISABLE="1", STANDIN_PROFILER_VERSION=str(version))
    functions = [ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, "send", "receive"]
    told = guest.told("function", "told_by")
    assert sorted(told) == sorted((function, PROFILER) for function in functions)
    assert told[:5] == [(function, PROFILER) for function in functions[:5]]
    assert dict(guest.told("function", "peer"))["send"] == 0
    if version >= 4:
        [communicator] = guest.of("unhooked_communicator")
        assert (communicator["name"], communicator["rank"], communicator["size"]) == ("alone", 0, 1)
    assert guest.timed() == ({(1, sequence) for sequence in range(7)} if version >= 3 else set())


@pytest.mark.parametrize("version", range(1, 7))
def test_unhooked_calls_are_told_once(run, version):
    guest = run("past", "groups", STANDIN_PROFILER_VERSION=str(version))
    assert len(guest.told("function")) == 10
    assert all(int(str(communicator["id"]), 0) for communicator in guest.of("unhooked_communicator"))
    assert guest.timed() == ({(1, sequence) for sequence in range(10)} if version >= 3 else set())


@pytest.mark.parametrize("timing", ("auto", "profiler", "none"))
def test_hooked_calls_are_told_once(run, timing):
    guest = run("bound", "groups", timing=timing)
    assert len(guest.hooked()) == 10 and not guest.of("unhooked_collective", "unhooked_communicator")


def test_auto_times_what_no_hook_sees(run):
    """If NCCL takes our plugin: named by the user, as `run` does not without being asked."""
    guest = run("past", "five", timing="auto", NCCL_PROFILER_PLUGIN="STATIC_PLUGIN")
    assert len(guest.collectives) == 5
    assert [tier for tier, _ in guest.tiers()] == ["profiler"] and "no hook sees" in guest.tiers()[0][1]


def test_auto_leaves_hooked_calls_to_events(run):
    guest = run("bound", "five", timing="auto", NCCL_PROFILER_PLUGIN="STATIC_PLUGIN")
    assert guest.tiers() == [("events", "-")] and len(guest.collectives) == 5
    assert not guest.of("collective_choice")


def test_coverage_says_what_is_lacking(tmp_path):
    ranks = "for r in 0 1; do RANK=$r WORLD_SIZE=2 %s past five & done; wait" % GUEST
    subprocess.run([str(word) for word in (DDPSCOPE, "run", "--cpu", "-o", tmp_path / "trace", "--", "sh", "-c", ranks)],
                   cwd=tmp_path, check=True, timeout=60, stderr=subprocess.DEVNULL, env=clean_environment())
    done = subprocess.run([DDPSCOPE, "report", tmp_path / "trace", "--format", "json"], text=True, stdout=subprocess.PIPE)
    report = json.loads(done.stdout)
    [entry] = [entry for entry in report["coverage"] if "of NCCL" in entry["what"]]
    assert entry["what"] == "10 operations of 2 communicators of NCCL"
    assert "by its NVTX ranges, 10 of them without data type and stream" in entry["why"]
    assert {"hung-collective", "missing-barrier", "no-process-group", "straggler"} <= set(entry["unjudged"])
    info = subprocess.run([DDPSCOPE, "info", tmp_path / "trace"], text=True, stdout=subprocess.PIPE).stdout
    assert info.count("seen by no hook: 5 operations told by its NVTX ranges") == 2


def test_the_report_names_the_tier(run):
    assert run("bound", "five").report()["job"]["gpu_timing"] == "profiler"


def test_the_reason_of_no_tier_at_all_is_told(run):
    guest = run("bound", "no_nccl")
    reason = "none: profiler was asked for, and no call of NCCL was seen"
    assert not guest.tiers() and guest.info().count(f"  gpu times {reason}\n") == 1
    [entry] = [entry for entry in guest.report()["coverage"] if "the devices of" in entry["what"]]
    assert reason in entry["why"] and not entry["unjudged"]


@pytest.mark.parametrize("story, timing", [("no_nccl", "auto"), ("five", "profiler")])
def test_where_nothing_is_lacking_no_reason_is_told(run, story, timing):
    guest = run("bound", story, timing=timing)
    assert "gpu times none" not in guest.info() and len(guest.tiers()) == 1
    assert not [entry for entry in guest.report()["coverage"] if "the devices of" in entry["what"]]
