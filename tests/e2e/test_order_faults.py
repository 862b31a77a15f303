"""The faults of order are found, if there is a detector, and do what they say; their twins do otherwise.

What they do is read from the trace, not from a report.
"""
import itertools
import pathlib
import re

import ddpscope
import pytest
import trainer
from order_trace import WAITS, Trace, peers


# Seconds by which the access that nothing orders comes late: enough for the other one, on a busy machine too.
LATE = 1.5


def faulty(name, ranks, seed, folder, code=0):
    draw = trainer.Draw(seed, name, ranks)
    trace = trainer.fault(name, draw, folder, "--fault-delay", LATE, code=code)
    trainer.assert_found_if_possible(trace, name.split("/")[0])
    return draw, Trace(trace)


def healthy(name, ranks, seed, folder):
    draw = trainer.Draw(seed, name, ranks)
    return draw, Trace(trainer.train(draw, folder, "--twin", name))


def first_read(trace, rank, path="/data/manifest.txt"):
    return trace.opened(rank, path)[0]


def written(trace, path="/data/manifest.txt", rank=0):
    return trace.opened(rank, path, writing=True)[0]


@trainer.everywhere
def test_missing_barrier_in_the_preparation(tmp_path, ranks, seed):
    _, trace = faulty("missing-barrier/preparation", ranks, seed, tmp_path)
    assert trace.collectives_before(written(trace)) == 0
    for rank in trace.ranks:
        assert trace.collectives_before(first_read(trace, rank)) == 0, f"rank {rank} reads after a collective"
    assert trace.ranks == list(range(ranks))


@trainer.everywhere
def test_missing_barrier_after_a_save(tmp_path, ranks, seed):
    draw, trace = faulty("missing-barrier/checkpoint", ranks, seed, tmp_path)
    pointers, states = (trace.opened(0, end, writing=True) for end in ("/latest", ".bin"))
    states = [record for record in states if "/checkpoints/" in record["path"]]
    assert len(pointers) == len(states) == draw.epochs
    for rank in peers(trace):
        reads = trace.opened(rank, "/latest")
        assert len(reads) == draw.epochs
        for pointer, state, read in zip(pointers, states, reads):
            opened = trace.opened(rank, state["path"])[0]
            issued = {trace.collectives_before(record) for record in (pointer, state, read, opened)}
            assert len(issued) == 1, f"rank {rank}: a collective stands between"


@trainer.everywhere
def test_read_back_is_ordered(tmp_path, ranks, seed):
    draw, trace = healthy("read-back", ranks, seed, tmp_path)
    pointers = trace.opened(0, "/latest", writing=True)
    for rank in peers(trace):
        reads = trace.opened(rank, "/latest")
        assert len(reads) == draw.epochs
        for pointer, read in zip(pointers, reads):
            assert trace.collectives_before(read) == trace.collectives_before(pointer) + 1


@trainer.everywhere
def test_the_host_waits_on_another_device(tmp_path, ranks, seed):
    _, trace = faulty("ineffective-barrier/wrong-device", ranks, seed, tmp_path)
    for rank in trace.ranks:
        barrier, read = trace.barriers(rank)[0], first_read(trace, rank)
        assert barrier["device"] == rank and barrier.begin < read.begin
        waits = trace.between(barrier, read, *WAITS)
        assert [(wait["stream"], wait["device"]) for wait in waits] == [(0, 0)], waits


@trainer.everywhere
def test_no_host_waits(tmp_path, ranks, seed):
    _, trace = faulty("ineffective-barrier/never-waited", ranks, seed, tmp_path)
    for rank in trace.ranks:
        barrier, read = trace.barriers(rank)[0], first_read(trace, rank)
        assert barrier.begin < read.begin
        assert trace.between(barrier, read, *WAITS, "cudaEventQuery", "cudaStreamQuery") == []


@trainer.everywhere
def test_no_host_waits_but_an_event_says_done(tmp_path, ranks, seed):
    _, trace = healthy("barrier-already-done", ranks, seed, tmp_path)
    for rank in trace.ranks:
        barrier, read = trace.barriers(rank)[0], first_read(trace, rank)
        assert trace.between(barrier, read, *WAITS) == []
        assert trace.between(barrier, read, "cudaEventQuery")[-1]["result"] == 0


@trainer.everywhere
def test_hosts_wait_late(tmp_path, ranks, seed):
    _, trace = healthy("waited-late", ranks, seed, tmp_path)
    for rank in trace.ranks:
        barrier, read = trace.barriers(rank)[0], first_read(trace, rank)
        wait, = trace.between(barrier, read, *WAITS)
        assert wait["stream"] == barrier["stream"]
        assert trace.between(barrier, wait, "stat", "mkdir"), "nothing is done before the wait"


@trainer.everywhere
def test_ranks_see_different_answers(tmp_path, ranks, seed):
    _, trace = faulty("divergent-existence-check/preparation", ranks, seed, tmp_path, code=None)
    answers = [trace.find(rank, "stat", path="/data/manifest.txt")[0]["error"] for rank in trace.ranks]
    assert answers == ["ENOENT"] + [0] * (ranks - 1)
    assert trace.collectives(0) == trace.barriers(0), "rank 0 gets no further than its barrier"
    assert all(trace.collectives(rank)[0].call == "ncclBroadcast" for rank in peers(trace))


@trainer.everywhere
def test_there_is_no_communicator(tmp_path, ranks, seed):
    _, trace = faulty("no-process-group/never", ranks, seed, tmp_path)
    assert trace.ranks == list(range(ranks))
    assert not any(record.call.startswith("nccl") for calls in trace.calls.values() for record in calls)


@trainer.everywhere
def test_every_communicator_has_one_rank(tmp_path, ranks, seed):
    _, trace = faulty("no-process-group/world-of-one", ranks, seed, tmp_path)
    assert trace.ranks == list(range(ranks)), "by the environment"
    joined = [record for rank in trace.ranks for record in trace.find(rank, "ncclCommInitRank")]
    assert {(record["rank"], record["size"]) for record in joined} == {(0, 1)}
    assert len({record["id"] for record in joined}) == ranks


@trainer.everywhere
def test_subgroups_connect_all_ranks(tmp_path, ranks, seed):
    _, trace = healthy("subgroups-only", ranks, seed, tmp_path)
    members = {}
    for rank in trace.ranks:
        for record in trace.find(rank, "ncclCommInitRank"):
            members.setdefault(record["id"], set()).add(rank)
    assert ranks == 2 or all(len(group) < ranks for group in members.values())
    reached = {0}
    for _, group in itertools.product(range(ranks), members.values()):
        reached |= group if group & reached else set()
    assert reached == set(range(ranks))


def deletions(draw, trace):
    """How many collectives precede each removal of a checkpoint by rank 0, and its last opening by another rank."""
    removed = trace.find(0, "remove", "unlink", in_path="/checkpoints/", error=0)
    assert len(removed) == draw.epochs - 1
    for removal, rank in itertools.product(removed, peers(trace)):
        opened = trace.opened(rank, removal["path"])[-1]
        assert opened.begin < removal.begin
        yield trace.collectives_before(removal), trace.collectives_before(opened)


@trainer.everywhere
def test_rank_0_deletes_what_the_others_open(tmp_path, ranks, seed):
    for before_removal, before_open in deletions(*faulty("checkpoint-race/rotation", ranks, seed, tmp_path)):
        assert before_removal == before_open


@trainer.everywhere
def test_rotation_between_barriers(tmp_path, ranks, seed):
    for before_removal, before_open in deletions(*healthy("rotation-between-barriers", ranks, seed, tmp_path)):
        assert before_removal == before_open + 1


@trainer.everywhere
def test_all_ranks_rename_one_folder(tmp_path, ranks, seed):
    draw, trace = faulty("checkpoint-race/rename", ranks, seed, tmp_path)
    tries = [record for rank in trace.ranks for record in trace.find(rank, "rename", in_path="/tmp-step_")]
    assert len(tries) == ranks * draw.epochs
    assert sum(record["error"] == 0 for record in tries) == draw.epochs
    for path in {record["path"] for record in tries}:
        assert len({trace.collectives_before(record) for record in tries if record["path"] == path}) == 1


@trainer.everywhere
@pytest.mark.parametrize("twin", ["poll-marker", "rename-published", "store-wait", "lock-file"])
def test_data_is_handed_over_without_a_collective(tmp_path, twin, ranks, seed):
    _, trace = healthy(twin, ranks, seed, tmp_path)
    writers = [rank for rank in trace.ranks if trace.find(rank, "rename", in_path="/data/validation.bin.")]
    assert len(writers) == 1 and (writers == [0] or twin == "lock-file")
    for rank in trace.ranks:
        read = first_read(trace, rank)
        assert trace.collectives_before(read) == 0
        lock = [record.call for record in trace.find(rank, "flock") if record.begin < read.begin]
        assert lock == (["flock", "flock"] if twin == "lock-file" else [])


def test_the_list_of_findings_without_a_detector_is_right(tmp_path):
    report = ddpscope.report(trainer.train(trainer.Draw(1, "list", 2), tmp_path))
    findings = {row["finding"] for row in trainer.TABLE["faults"]}
    assert trainer.WITHOUT_DETECTOR == trainer.without_detector(report) & findings


def test_each_of_their_faults_is_run():
    run = pathlib.Path(__file__).read_text()
    faults = [row["name"] for row in trainer.TABLE["faults"] if row["finding"] in trainer.WITHOUT_DETECTOR]
    assert [name for name in faults if f'faulty("{name}"' not in run] == []


def test_the_catalogue_and_the_page_name_every_fault():
    page = (trainer.REPOSITORY / "docs/faults.md").read_text()
    rows = trainer.TABLE["faults"] + trainer.TABLE["twins"]
    assert [row["name"] for row in rows if f"| `{row['name']}` |" not in page] == []
    assert set(re.findall(r"\| \*(\S+)\* \|$", page, re.M)) == trainer.WITHOUT_DETECTOR
    for slug, (_, faults) in trainer.catalogue().items():
        names = [row["name"] for row in trainer.TABLE["faults"] if row["finding"] == slug]
        assert sorted(faults.split()) == sorted(names) if names else faults.startswith("none"), slug
