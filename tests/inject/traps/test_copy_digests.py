"""Digests of what copies bring to the device: equal where the content is, and nothing is read that is not the host's."""
import guards
from recording import BUILD, TRAPS

GUEST = TRAPS / "copy_digests_guest"
RUNTIME = BUILD / "lib" / "standin" / "libcudart.so.13"
NOT_READ = {2001, 2002, 2003, 2004, 2005, 32}  # bytes: a size of its own tells a copy from the others


def record(run, **settings):
    guest, trace = run([GUEST], after=[RUNTIME], **settings)
    assert guest.returncode == 0, guest.stderr
    return trace


def of(trace, size):
    return [digest for digest in trace.calls("copy_digest") if int(digest["bytes"]) == size]


def content(run):
    trace = record(run)
    pageable, pinned = of(trace, 1001)
    assert pageable["hash"] == pinned["hash"] != "0x0" and pageable["source"] != pinned["source"]
    assert pageable["words"] == "64" and len(of(trace, 1002)) == 1
    assert of(trace, 1003)[0]["words"] == "1", "all words are the same"
    same, again, last_byte_differs = (digest["hash"] for digest in of(trace, 100_000))
    assert same == again != last_byte_differs
    assert of(trace, 100_000)[0]["words"] == "64"
    assert len(of(trace, 1007)) == 1, "up to the end of what is mapped"


def follows_its_copy(run):
    records = record(run).records
    pairs = [pair for pair in zip(records, records[1:]) if pair[1].call == "copy_digest"]
    fields = ("source", "bytes", "stream", "count")
    assert pairs and all(copy[name] == digest[name] for copy, digest in pairs for name in fields)


def run_of_copies(run):
    """One record, one digest."""
    trace = record(run)
    copies = [copy for copy in trace.calls("cudaMemcpy") if copy["bytes"] == "30000"]
    digests = of(trace, 30_000)
    assert [copy["count"] for copy in copies] == [digest["count"] for digest in digests] == ["10", "10"]
    assert digests[0]["hash"] != digests[1]["hash"], "the last copy of the run differs"


def only_host_memory(run):
    trace = record(run)
    copied = {int(copy["bytes"]) for copy in trace.calls("cudaMemcpyAsync")}
    digested = {int(digest["bytes"]) for digest in trace.calls("copy_digest")}
    assert NOT_READ <= copied and not NOT_READ & digested


def switched_off(run):
    trace = record(run, environment={"DDPSCOPE_COPY_DIGESTS": "0"})
    assert trace.calls("cudaMemcpyAsync") and not trace.calls("copy_digest")


test_trap, test_guard = guards.tests_of(globals())
