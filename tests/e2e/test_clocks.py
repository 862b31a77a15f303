"""Hosts whose clocks are off by seconds and drift are aligned to within the bound that is printed.

All hosts are one machine, so the ticks of its processor, which records carry, tell the truth.
"""
import re
import struct

import ddpscope
import hosts
import ports
import pytest
import records
import trainer

CALLS = (trainer.REPOSITORY / "trace" / "calls.def").read_text()
HEADER, RECORD, KEPT_RECORDS = 4096, 64, 1
CHUNK = struct.Struct("<IBBHIIIIQQ")  # magic, kind, signatures, thread, bytes, used, generation, open, number, offset
MADE = ["ncclCommInitRank", "ncclCommDestroy"]  # near the job's begin and at its end


def ticks_of(file, call):
    """Of the only record of this call in a trace file, when it began."""
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


@pytest.mark.parametrize("count, ranks_per_host", [(2, 1), (2, 2), (3, 1)])
def test_aligned_within_the_printed_bound(count, ranks_per_host, tmp_path):
    skews = [hosts.Skew(), hosts.Skew(monotonic_s=1000, drift_ppm=100, wall_s=1),
             hosts.Skew(monotonic_s=5, drift_ppm=-60, wall_s=-1)][:count]
    port = ports.free_port()
    with hosts.hosts(count, tmp_path / "hosts", skews=skews) as machines:
        trace = machines[0].shared / "trace"
        outside = tmp_path / "hosts" / "served,disk" / "trace"
        job = [host.start([ddpscope.DDPSCOPE, "run", "--cpu", "-o", trace, "--", trainer.TRAINER, "--epochs", "2",
                           "--samples", "128", "--batch", "4", "--width", "48", "--timeout", "30",
                           "--workdir", host.shared / "job"], env=environment)
               for host, environment in hosts.ranks(machines, ranks_per_host, port)]
        ended = hosts.finish(job)
        assert [done.code for done in ended] == [0] * len(job), "\n".join(done.stderr[-1000:] for done in ended)
        report = ddpscope.report(outside)
        said = ddpscope.start([ddpscope.DDPSCOPE, "info", outside], cwd=tmp_path).stdout
        seen = records.read(outside)
        truth = {call: sorted(tick for file in outside.glob("*.ddps") for tick in ticks_of(file, call)) for call in MADE}
    assert report["findings"] == []
    bound_ns = report["job"]["clock_error_us"] * 1e3
    assert 0 < bound_ns < 500e6, "the wall clocks are a second and more apart"
    assert not [entry for entry in report["coverage"] if "clocks of hosts" in entry["what"]]
    ns_a_tick = float(re.search(r"host +host0 .*?([0-9.]+) ns a tick", said)[1])
    for call in MADE:
        begins = sorted(record.begin * 1e9 for record in seen if record.call == call)
        assert len(begins) == len(truth[call]) == count * ranks_per_host, call
        for aligned, ticks in zip(begins, truth[call]):
            apart = (aligned - begins[0]) - (ticks - truth[call][0]) * ns_a_tick
            # Each of the two moments of a rank and its neighbour may be off by the bound.
            assert abs(apart) <= 2 * bound_ns, f"{call}: {apart} ns, bound {bound_ns} ns"
