"""How far the analysis puts hosts beside the truth: all hosts of a test are one machine, whose processor's ticks records carry."""
import pathlib
import re
import struct

import ddpscope
import records

CALLS = (pathlib.Path(__file__).parents[2] / "trace" / "calls.def").read_text()
HEADER, RECORD, KEPT_RECORDS = 4096, 64, 1
CHUNK = struct.Struct("<IBBHIIIIQQ")  # magic, kind, signatures, thread, bytes, used, generation, open, number, offset


def ticks_of(file, call):
    """When each kept record of this call in a trace file began."""
    number = int(re.search(rf"DDPSCOPE_CALL\((\d+), {call},", CALLS)[1])
    data, at, found = file.read_bytes(), HEADER, set()
    while at + RECORD <= len(data):
        magic, kind, _, _, size, used, *_ = CHUNK.unpack_from(data, at)
        if magic != 0x4B4E4843:
            break
        for record in range(at + RECORD, at + RECORD + used, RECORD) if kind == KEPT_RECORDS else []:
            begin, _, own = struct.unpack_from("<QQH", data, record)
            if own == number:
                found.add(begin)
        at += size
    return found


def assert_within_bound(trace, calls):
    """calls: {name: how many of them all processes together hold}; none is further off than the report's bound says."""
    report, seen = ddpscope.report(trace), records.read(trace)
    bound_ns = report["job"]["clock_error_us"] * 1e3
    assert 0 < bound_ns < 500e6, "the wall clocks are a second and more apart"
    assert not [entry for entry in report["coverage"] if "clocks of hosts" in entry["what"]]
    said = ddpscope.start([ddpscope.DDPSCOPE, "info", trace], cwd=trace.parent).stdout
    ns_a_tick = float(re.search(r"host +host0 .*?([0-9.]+) ns a tick", said)[1])
    for call, count in calls.items():
        truth = sorted(tick for file in trace.glob("*.ddps") for tick in ticks_of(file, call))
        begins = sorted(record.begin * 1e9 for record in seen if record.call == call)
        assert len(begins) == len(truth) == count, call
        for aligned, ticks in zip(begins, truth):
            apart = (aligned - begins[0]) - (ticks - truth[0]) * ns_a_tick
            # Each of the two moments of a rank and its neighbour may be off by the bound.
            assert abs(apart) <= 2 * bound_ns, f"{call}: {apart} ns, bound {bound_ns} ns"
