"""Calls that recur take 8 bytes each and come back through the reader as they were made, whatever happens inside one."""
import collections

import guards
import recording
from recording import TRAPS

GUEST = TRAPS / "regular_guest"
CONVERSION_NS = 1000  # of ticks, by a line through two readings of the clock


def steps(run):
    guest, trace = run([GUEST, "steps"])
    made = [line.split() for line in guest.stdout.splitlines()]
    found = trace.calls("ncclAllReduce", "ncclBcast")
    assert guest.returncode == 0 and len(made) == 400 * 22
    assert [(r.call, r["count"], r["communicator"]) for r in found] == [tuple(words[2:]) for words in made]
    for communicator in "12":
        sequences = [int(r["sequence"]) for r in found if r["communicator"] == communicator]
        assert sequences == list(range(len(sequences)))
    # The job's start on the guest's clock: there is one with which every record lies within its call.
    earliest = max(int(words[0]) - record.begin for words, record in zip(made, found))
    latest = min(int(words[1]) - record.end for words, record in zip(made, found))
    assert earliest <= latest + CONVERSION_NS
    groups = trace.calls("ncclGroupStart", "ncclGroupEnd")
    assert [r.call for r in groups] == ["ncclGroupStart", "ncclGroupEnd"] * len(made)
    calls = [r for r in trace.records if r.call != "device_timing"]  # a moment within the first collective
    assert len(calls) == len(trace.records) - 1
    assert all(before.end <= after.begin for before, after in zip(calls, calls[1:]))


def killed(run):
    guest, trace = run([GUEST, "killed"])
    assert guest.returncode == 0 and trace.counts() == [9] * 51
    assert [r.inside for r in trace.calls("ncclAllReduce")] == [False] * 50 + [True]
    assert [int(r["sequence"]) for r in trace.calls("ncclAllReduce")] == list(range(51))


def left(run):
    guest, trace = run([GUEST, "left"])
    found = trace.calls("ncclAllReduce")
    assert guest.returncode == 0 and trace.counts() == [9] * 102
    assert [i for i, r in enumerate(found) if r.inside] == [50]
    assert [(int(r["communicator"]), int(r["sequence"])) for r in found] == [(1, i) for i in range(101)] + [(2, 0)]


def doubled(run, how):
    guest, trace = run([GUEST, how])
    found = trace.calls("ncclAllReduce")
    parent = collections.Counter(r.pid for r in found).most_common(1)[0][0]
    assert guest.returncode == 5 and not any(r.inside for r in found)
    assert [r.call for r in trace.records if r.pid == parent].count("ncclAllReduce") == 101
    assert all(int(r["pid"]) == r.pid for r in trace.calls("exit", "_exit")), "a copy's end is not its parent's"
    return len(found)


def forked(run):
    assert doubled(run, "forked") == 151


def cloned(run):
    assert doubled(run, "cloned") == 151


def gone(run):
    assert doubled(run, "gone") == 101


def interrupted(run):
    guest, trace = run([GUEST, "interrupted"])
    interruptions = int(guest.stdout)
    assert guest.returncode == 0 and interruptions > 100
    for communicator, own in ("1", 53), ("2", 8):
        found = [r for r in trace.calls("ncclAllReduce") if r["communicator"] == communicator]
        sequences = [int(r["sequence"]) for r in found]
        assert sorted(sequences) == list(range(len(found))) and not any(r.inside for r in found)
        assert sum(r["count"] == "9" for r in found) >= own
    recorded = len(trace.calls("ncclAllReduce")) - 61
    assert recorded > 0 and trace.health["reentrant_calls"] > 0
    assert all(r.begin <= r.end for r in trace.records)


test_trap, test_guard = guards.tests_of(globals())


def test_eight_bytes(tmp_path):
    """After the first of its kind each call costs a word."""
    _, trace = recording.run([TRAPS / "guest", "signal"], tmp_path)
    assert sum(f.stat().st_size for f in trace.files) < 9 * len(trace.calls("ncclAllReduce")) + 1_000_000
