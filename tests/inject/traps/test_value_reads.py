"""Numbers that the host reads back: recorded where they are surely there, and nothing is read that may be gone."""
import struct

import guards
from recording import BUILD, TRAPS

GUEST = TRAPS / "value_reads_guest"
RUNTIME = BUILD / "lib" / "standin" / "libcudart.so.13"


def record(run, **settings):
    guest, trace = run([GUEST], after=[RUNTIME], **settings)
    assert guest.returncode == 0, (guest.returncode, guest.stderr)
    return trace


def number(read):
    size = int(read["bytes"])
    return struct.unpack("<f" if size == 4 else "<d", int(read["value"], 16).to_bytes(size, "little"))[0]


def numbers(trace):
    return [number(read) for read in trace.calls("value_read")]


def all_of_them(run):
    assert [value for value in numbers(record(run)) if value] == [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]


def behind_what_brought_it(run):
    """A wait, with whose stack, or a copy that waits."""
    records = record(run).records
    pairs = [(before, read) for before, read in zip(records, records[1:]) if read.call == "value_read"]
    assert {before.call for before, _ in pairs} == {"cudaStreamSynchronize", "cudaMemcpy"}
    assert all(read.stack and read["source"] != "0x0" for _, read in pairs)
    assert all(before.stack == read.stack for before, read in pairs if before.call == "cudaStreamSynchronize")


def run_of_copies(run):
    """One record, one value."""
    copies = [copy for copy in record(run).calls("cudaMemcpy") if copy["kind"] == "device-to-host"]
    assert [copy["count"] for copy in copies if copy["bytes"] == "24"] == ["3", "3", "3"]


def not_awaited(run):
    assert not {101, 102, 103, 104} & set(numbers(record(run)))


def not_a_number_of_the_host(run):
    assert not {105, 106, 107, 108, 109} & set(numbers(record(run)))


def unmapped(run):
    assert 111 not in numbers(record(run))


def of_the_parent(run):
    reads = [read for read in record(run).calls("value_read") if number(read) == 7.5]
    assert len(reads) == 1, reads


def switched_off(run):
    trace = record(run, environment={"DDPSCOPE_COPY_DIGESTS": "0"})
    assert trace.calls("cudaStreamSynchronize") and not trace.calls("value_read")


test_trap, test_guard = guards.tests_of(globals())
