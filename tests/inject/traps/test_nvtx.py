"""Ranges and marks of NVTX: recorded as the program named them, and bounded in what their names take."""
import guards
from recording import TRAPS

GUEST = TRAPS / "nvtx_guest"
RANGES = ("nvtxMark", "nvtxRangePush", "nvtxRangePop", "nvtxRangeStart", "nvtxRangeEnd")


def record(run, what, **environment):
    guest, trace = run([GUEST, what], environment={"NVTX_INJECTION64_PATH": str(run.injector), **environment})
    assert (guest.returncode, guest.stdout, guest.stderr) == (0, "done\n", "")
    return trace


def told(trace):
    return [(call.call.removeprefix("nvtx"), call.get("name")) for call in trace.calls(*RANGES)]


def every_way(run):
    trace = record(run, "push")
    assert told(trace) == [
        ("RangePush", "plain"), ("RangePush", "wide ä€"), ("RangePush", "attributes"),
        ("RangePop", "-"), ("RangePop", "-"), ("RangePop", "-"),
        ("Mark", "mark"), ("Mark", "wide mark"), ("Mark", "mark attributes"), ("Mark", "-"),
        ("RangePush", "-"), ("RangePop", "-"), ("RangePush", "l" * 255), ("RangePop", "-")]
    attributes = trace.calls("nvtxRangePush")[2]
    assert (attributes["category"], attributes["color"]) == ("7", "0xff102030")


def domains(run):
    """Also in a forked child, to which the handles are handed down."""
    trace = record(run, "domains")
    calls = [(call.call, call["name"], call["domain"]) for call in trace.calls(*RANGES)]
    push, pop = ("nvtxRangePush", "registered", "loader"), ("nvtxRangePop", "-", "loader")
    assert calls == [push, pop, ("nvtxMark", "in a domain", "loader"), push, pop]
    assert len({call.pid for call in trace.calls(*RANGES)}) == 2


def ended_elsewhere(run):
    trace = record(run, "elsewhere")
    starts = {call["id"]: call["name"] for call in trace.calls("nvtxRangeStart")}
    assert [starts[call["id"]] for call in trace.calls("nvtxRangeEnd")] == ["first", "third", "second"]
    assert {call.thread for call in trace.calls("nvtxRangeEnd")}.isdisjoint(
        call.thread for call in trace.calls("nvtxRangeStart"))


def numbered(run):
    names = [name for call, name in told(record(run, "steps")) if call == "RangePush"]
    assert len(names) == 20_001 and names[-1] == "step 17" and names[0] == "step 0"
    assert 1000 < len(set(names)) <= 4001 and names[-2] == "step #"


def disabled(run):
    assert not record(run, "push", DDPSCOPE_DISABLE="1").files


test_trap, test_guard = guards.tests_of(globals())
