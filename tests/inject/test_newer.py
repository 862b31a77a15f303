"""What came after NCCL 2.28, and what few programs call, under `ddpscope run`: recorded as what it is, and healthy."""
import re
import subprocess

import ddpscope
import pytest
import records

RANKS = 3
LOOP = "for rank in 0 1 2; do RANK=$rank WORLD_SIZE=3 JOB_DIR=$1 $0 $2 & done; wait"


def told(command, trace):
    return subprocess.run([ddpscope.DDPSCOPE, command, trace], capture_output=True, text=True, check=True).stdout


def recorded(folder, scenario, program="nccl_newer"):
    done = ddpscope.record(["sh", "-c", LOOP, ddpscope.BUILD / "bin" / program, folder, scenario], folder / "trace", folder, cpu=True)
    assert done.code == 0, done.stdout + done.stderr
    report = ddpscope.report(folder / "trace")
    assert report["findings"] == []
    assert report["job"]["ranks"] == RANKS
    return told("dump", folder / "trace")


@pytest.mark.parametrize("scenario, calls", [
    ("grows", ["ncclCommGetUniqueId", "ncclCommGrow"]),
    ("rests", ["ncclCommSuspend", "ncclCommResume", "ncclCommMemStats"]),
    ("puts", ["ncclPutSignal", "ncclWaitSignal", "ncclCommWindowRegister"]),
    ("signals", ["ncclSignal", "ncclWaitSignal"]),
    ("settings", [f"nccl{name}Config" for name in ("AllReduce", "Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                                   "AlltoAll", "Gather", "Scatter")]),
])
def test_calls(tmp_path, scenario, calls):
    text = recorded(tmp_path, scenario)
    for call in calls:
        assert re.search(rf" {call} .*result=0", text), f"no {call} in\n{text}"


def test_a_wait_tells_how_many_signals_it_wants_of_whom(tmp_path):
    """Each rank waits for one of each rank, by one call: of whom is not told then."""
    waits = re.findall(r" ncclWaitSignal .*?count=(\d+) .*?peer=(-?\d+)", recorded(tmp_path, "signals"))
    assert waits == [(str(RANKS), "-1")] * RANKS


def test_a_grown_communicator_is_one(tmp_path):
    recorded(tmp_path, "grows")
    info = told("info", tmp_path / "trace")
    grown = re.findall(rf"communicator \d rank (\d) of {RANKS} \(id ([0-9a-f]+)\)", info)
    assert [rank for rank, _ in grown] == ["0", "1", "2"], info
    assert len({number for _, number in grown}) == 1, info


def test_several_ids_make_one_communicator_whose_reduction_has_a_factor(tmp_path):
    text = recorded(tmp_path, "averages-on-several-ids", "nccl_order")
    assert text.count(" reduction=operator 254 ") == RANKS  # one of the program's own
    all_records = records.read(tmp_path / "trace")

    def calls(name):
        of_rank = {record.rank: record for record in all_records if record.call == name}
        assert set(of_rank) == set(range(RANKS)) and all(record["result"] == 0 for record in of_rank.values())
        return of_rank

    joins, reductions = calls("ncclCommInitRankScalable"), calls("ncclAllReduce")
    made, destroyed = calls("ncclRedOpCreatePreMulSum"), calls("ncclRedOpDestroy")
    registered, deregistered = calls("ncclCommRegister"), calls("ncclCommDeregister")
    ids = {record.rank: record["argument"] for record in all_records if record.call == "ncclGetUniqueId"}
    assert set(ids) == {0, 1} and {join["id"] for join in joins.values()} == {ids[0]}  # of two the first
    for rank, join in joins.items():
        assert (join["rank"], join["size"], join["device"]) == (rank, RANKS, rank)
        for call in (reductions, made, destroyed, registered, deregistered):
            assert call[rank]["communicator"] == join["communicator"]
        for call in (made, destroyed, registered, deregistered):
            assert call[rank]["handle"] == join["handle"]
        assert made[rank]["argument"] == destroyed[rank]["argument"]
        # The stand-in's handle of a registered buffer is the buffer.
        assert registered[rank]["argument"] == reductions[rank]["buffer"] == deregistered[rank]["argument"]


def test_a_shrink_tells_whether_it_aborts(tmp_path):
    """The last rank is killed, and the others go on without it: they are not said to hang."""
    ranks = 4
    loop = f"for rank in $(seq 0 {ranks - 1}); do RANK=$rank WORLD_SIZE={ranks} JOB_DIR=$1 $0 shrink-around-a-dead-rank & done; wait"
    program = ddpscope.BUILD / "bin/nccl_endings"
    done = ddpscope.record(["sh", "-c", loop, program, tmp_path], tmp_path / "trace", tmp_path, cpu=True)
    assert done.code == 0, done.stdout + done.stderr
    shrinks = re.findall(r" ncclCommShrink .*", told("dump", tmp_path / "trace"))
    assert len(shrinks) == ranks - 1 and all(" color=1 " in one and " size=3 " in one for one in shrinks), shrinks
    for finding in ddpscope.report(tmp_path / "trace")["findings"]:
        assert (finding["slug"], finding["ranks"]) == ("hung-collective", [ranks - 1]), finding
