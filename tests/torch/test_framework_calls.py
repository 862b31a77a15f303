"""PyTorch's own calls are recorded: each once, with what the script says, on the oldest and the newest version."""
import sys

import ddpscope
import pytest
from framework_calls import BOTH, MOSTLY_NEWEST, OPERATIONS, Calls, is_newest, numbered_lines
from jobs import SCRIPTS
from ports import free_port


def command(python, script, *arguments, ranks=2):
    return ["sh", SCRIPTS / "loop.sh", str(ranks), str(free_port()), python, SCRIPTS / script, *arguments]


def printed_lines(stdout):
    """Lines of both ranks, which write into one pipe: a line's end may come behind the other rank's line."""
    return sorted(line for line in stdout.replace("rank ", "\nrank ").splitlines() if line)


def record(folder, python, script, *arguments, ranks=2, code=0, env=None):
    """Runs the job plainly and recorded; it must end and print alike. Returns its calls."""
    printed = {}
    for kind in ("plain", "recorded"):
        cwd = folder / kind
        cwd.mkdir()
        job = command(python, script, *arguments, ranks=ranks)
        environment = {"SECOND_PORT": str(free_port()), **(env or {})}
        done = ddpscope.start(job, cwd, environment) if kind == "plain" else \
            ddpscope.record(job, folder / "trace", cwd, env=environment, may_leave=code != 0)
        assert done.code == code, f"{kind}: {done.code}\n{done.stdout[-2000:]}\n{done.stderr[-12000:]}"
        printed[kind] = printed_lines(done.stdout)
    assert printed["recorded"] == printed["plain"]
    return Calls(folder / "trace")


# What group_tour.py does on each rank: call, its line's comment, count, type, reduction, peer (by rank), asked for as.
WORLD = [
    ("c10d_allreduce", "sum", 6, "float32", "sum", -1),
    ("c10d_allreduce", "largest", 3, "int64", "max", -1),
    ("c10d_allreduce", "in the background", 6, "float32", "sum", -1),
    ("c10d_broadcast", "from rank 1", 3, "int64", "none", 1),
    ("c10d_reduce", "product", 6, "float32", "prod", 1),
    ("c10d_allgather", "pieces", 4, "float64", "none", -1),
    ("c10d_gather", "gathered", 5, "int32", "none", 0),
    ("c10d_scatter", "scattered", 6, "float16", "none", 0),
    ("c10d_alltoall", "exchanged", 8, "int8", "none", -1),
    ("c10d_send", "sent", 3, "float32", "none", 1),
    ("c10d_monitored_barrier", "monitored", 0, "unknown", "none", -1),
    ("c10d_barrier", "the last one", 0, "unknown", "none", -1),
]


def expected_of(rank):
    rows = [row for row in WORLD]
    if rank == 1:
        rows[9] = ("c10d_recv", "received", 3, "float32", "none", 0)
    return rows


@pytest.mark.parametrize("python", BOTH)
def test_every_collective_is_there_once(python, tmp_path):
    calls = record(tmp_path, python, "group_tour.py")
    lines = numbered_lines(SCRIPTS / "group_tour.py")
    for rank in (0, 1):
        made = calls.of(rank, {"c10d_group"})
        world, again = made[0], made[-1]
        assert (world["rank"], world["size"], world["generation"]) == (rank, 2, 0)
        operations = calls.of(rank, OPERATIONS)
        of_world = [r for r in operations if r["communicator"] == world["communicator"]]
        found = [(r.call, r["count"], r["datatype"], r["reduction"], r["peer"]) for r in of_world]
        assert found == [(call, count, kind, reduction, peer) for call, _, count, kind, reduction, peer in expected_of(rank)]
        assert [r["sequence"] for r in of_world] == list(range(len(of_world)))
        for row, operation in zip(expected_of(rank), of_world):
            assert f"group_tour.py:{lines[row[1]]} " in operation.stack, row
            assert operation["result"] == "success"
        others = [(calls.group_of(r), r.call, r["count"]) for r in operations if r not in of_world]
        assert [name[1:] for name in others] == [*([("c10d_allreduce", 3)] if rank == 1 else []), ("c10d_barrier", 0), ("c10d_allreduce", 10)]
        assert again["generation"] == (0 if again["name"] != world["name"] else 1)
    for name in {group["name"] for group in calls.groups.values()}:  # equal on all ranks
        assert len({group["id"] for group in calls.groups.values() if group["name"] == name}) == 1


@pytest.mark.parametrize("python", MOSTLY_NEWEST)
def test_runs_and_waits_belong_to_their_call(python, tmp_path):
    calls = record(tmp_path, python, "group_tour.py")
    lines = numbered_lines(SCRIPTS / "group_tour.py")
    for rank in (0, 1):
        operations = calls.of(rank, OPERATIONS - {"c10d_monitored_barrier"})
        for operation in operations:
            waits = calls.with_operation(rank, "c10d_wait", operation)
            assert len(waits) == 1, operation
            background = f":{lines['in the background']} " in operation.stack
            assert background or waits[0]["flags"] == "at_once", operation
            assert waits[0].begin >= operation.begin
            if background:
                assert f"group_tour.py:{lines['the background ends']} " in waits[0].stack
            if is_newest(python) and operation.call not in ("c10d_send", "c10d_recv"):
                assert operation["flags"] == ("asynchronous" if background else "synchronous"), operation
            runs = calls.with_operation(rank, "c10d_run", operation)
            assert len(runs) == (0 if operation.call in ("c10d_send", "c10d_recv") else 1), operation
            assert all(run.thread != operation.thread for run in runs)


@pytest.mark.parametrize("python", MOSTLY_NEWEST)
def test_steps_and_passes(python, tmp_path):
    calls = record(tmp_path, python, "passes.py")
    lines = numbered_lines(SCRIPTS / "passes.py")
    steps, micro_batches = 4, 3
    for rank in (0, 1):
        order = [r for r in calls.of(rank, {"autograd_backward", "reducer_backward", "optimizer_step", "optimizer_zero_grad"})]
        step = ["optimizer_zero_grad", *["autograd_backward"] * (micro_batches - 1), "reducer_backward", "autograd_backward", "optimizer_step"]
        # The first zero_grad came before PyTorch could be asked for scopes only where no process group was made before.
        assert [r.call for r in order] == step * steps
        for r in order:
            line = {"autograd_backward": "backward", "optimizer_step": "updated", "optimizer_zero_grad": "cleared",
                    "reducer_backward": "forward"}[r.call]
            assert f"passes.py:{lines[line]} " in r.stack, r
        assert all(r["flags"] == "accumulate" for r in order if r.call == "autograd_backward")
        assert [r["name"] for r in order if r.call == "optimizer_step"] == ["Optimizer.step#SGD.step"] * steps
        assert len(calls.of(rank, {"module_forward"})) == steps * micro_batches
        reduced = [r for r in calls.of(rank, {"c10d_allreduce"}) if "reducer" in r["flags"]]
        assert [r["count"] for r in reduced] == [36] * steps, reduced
        assert all(f"passes.py:{lines['backward']} " in r.stack for r in reduced)


@pytest.mark.parametrize("python", MOSTLY_NEWEST)
def test_an_exception_of_the_call_passes(python, tmp_path):
    calls = record(tmp_path, python, "refused_calls.py", "argument")
    for rank in (0, 1):
        well, refused = calls.of(rank, {"c10d_allreduce"})
        assert (well["result"], refused["result"]) == ("success", "threw")
        assert not calls.with_operation(rank, "c10d_wait", refused)


@pytest.mark.long
@pytest.mark.parametrize("python", MOSTLY_NEWEST)
def test_an_exception_of_the_wait_passes(python, tmp_path):
    calls = record(tmp_path, python, "refused_calls.py", "timeout")
    well, late = calls.of(0, {"c10d_allreduce"})
    assert [r["result"] for r in calls.with_operation(0, "c10d_wait", well)] == ["success"]
    assert [r["result"] for r in calls.with_operation(0, "c10d_wait", late)] == ["threw"]
    assert [r["result"] for r in calls.with_operation(0, "c10d_run", late)] == ["threw"]
    assert len(calls.of(1, {"c10d_allreduce"})) == 1


@pytest.mark.parametrize("python", MOSTLY_NEWEST)
def test_what_aborts_a_rank_is_recorded(python, tmp_path):
    """Of two ranks with buffers of different sizes Gloo may end one: how the job ends is chance, what it called is not."""
    (tmp_path / "recorded").mkdir()
    ddpscope.record(command(python, "refused_calls.py", "sizes"), tmp_path / "trace", tmp_path / "recorded", may_leave=True)
    calls = Calls(tmp_path / "trace")
    assert [[r["count"] for r in calls.of(rank, {"c10d_allreduce"})] for rank in (0, 1)] == [[4, 4], [4, 2]]


@pytest.mark.parametrize("how", ["fork", *(pytest.param(how, marks=pytest.mark.long) for how in ("child", "forkserver", "spawn", "twice"))])
def test_ways_to_start(how, tmp_path):
    done = {}
    for kind in ("plain", "recorded"):
        (tmp_path / kind).mkdir()
        job = [sys.executable, SCRIPTS / "ways_to_start.py", how, str(free_port())]
        done[kind] = ddpscope.start(job, tmp_path / kind) if kind == "plain" else \
            ddpscope.record(job, tmp_path / "trace", tmp_path / kind)
        assert done[kind].code == 0, done[kind].stderr[-3000:]
    assert printed_lines(done["plain"].stdout) == printed_lines(done["recorded"].stdout)
    assert ddpscope.report(tmp_path / "trace")["findings"] == []
    calls = Calls(tmp_path / "trace")
    for rank in (0, 1):
        assert [(r.call, r["count"], r["result"]) for r in calls.of(rank, OPERATIONS)] == \
            [("c10d_allreduce", 7, "success"), ("c10d_barrier", 0, "success")]
    assert len([r for r in calls.all if r.call == "autograd_backward"]) == (2 if how == "child" else 0)
