"""PyTorch jobs in which a rank has a batch less: found by what it took and what goes over TCP, and no other failure is."""
import ddpscope
import pytest
from jobs import SCRIPTS, Job, make_clips, run_recorded

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
BATCH = 4


def run(folder, seed, ranks, short, *arguments, code=0):
    """The batches do not divide evenly: there is one less for the rank `short`."""
    clips = folder / "corpus"
    make_clips(clips, (10 * ranks - 1) * BATCH, 400, seed)
    job = Job("uneven_inputs.py", ranks=ranks, arguments=[clips, "--seed", seed, "--first", (short + 1) % ranks, *arguments])
    return run_recorded(job, folder, code=code)


# What Gloo does depends on what meets: it waits until its time is up, ends the process, or loses the connection.
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("end", ["barrier", *(pytest.param(end, marks=pytest.mark.long) for end in ("metrics", "nothing"))])
def test_a_rank_has_a_batch_less(tmp_path, seed, end, ranks):
    rng = ddpscope.draw(seed, f"uneven/{end}/{ranks}")
    short = rng.randrange(ranks)
    trace = run(tmp_path, seed, ranks, short, "--end", end, "--epochs", 1, "--workers", rng.choice([0, 1, 2]), code=1)
    finding = ddpscope.only_finding(trace, "uneven-steps")
    assert finding["ranks"] == [short] and finding["severity"] == "error"
    backward = ddpscope.line_of(SCRIPTS / "uneven_inputs.py", "loss.backward()")
    others = [rank for rank in range(ranks) if rank != short]
    assert any(f"uneven_inputs.py:{backward} " in frame for rank in others for frame in ddpscope.frames(finding, rank))
    if end == "barrier":
        line = ddpscope.line_of(SCRIPTS / "uneven_inputs.py", "dist.barrier()  # the end of the epoch")
        assert any(f"uneven_inputs.py:{line} " in frame for frame in ddpscope.frames(finding, short))


def test_a_rank_fails(tmp_path, seed):
    rng = ddpscope.draw(seed, "uneven/fails")
    trace = run(tmp_path, seed, 2, 1, "--end", "barrier", "--epochs", 1, "--fail", rng.randrange(2), code=1)
    assert ddpscope.report(trace)["findings"] == []


def test_who_has_no_data_joins(tmp_path, seed):
    rng = ddpscope.draw(seed, "uneven/join")
    trace = run(tmp_path, seed, 2, rng.randrange(2), "--join", "--end", "nothing", "--workers", rng.choice([0, 1]))
    assert ddpscope.report(trace)["findings"] == []
