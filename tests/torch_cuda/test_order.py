"""Ranks that do not issue the same collectives, or use a file in no order: PyTorch jobs on NCCL without a GPU."""
import ddpscope
import pytest
import wheel
from nccl_jobs import Job, evidence_of, expect_finding, expect_nothing_found, record
from ports import free_port

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
SHORT_TIMEOUT_S = 20  # where ranks hang
both = pytest.mark.parametrize("ranks", [2, 4])
mostly = pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])


def classifier(seed, bug, ranks):
    rng = ddpscope.draw(seed, f"cuda/classifier/{bug}/{ranks}")
    out, rank, epochs = f"runs/{rng.randrange(100)}", rng.randrange(ranks), rng.randrange(2, 4)
    job = Job("image_classifier.py", ranks=ranks, arguments=[
        # Behind the last barrier a rank that skips it only leaves early: that is a hung-collective.
        out, "--bug", bug, "--rank", rank, "--at", rng.randrange(epochs - 1), "--epochs", epochs, "--images", 8 * ranks,
        "--width", rng.randrange(8, 24), "--workers", rng.choice([0, 1]), "--seed", rng.randrange(100),
        *(["--timeout", SHORT_TIMEOUT_S] if bug in ("barrier", "log") else [])])
    return job, rank


@mostly
def test_a_rank_skips_a_barrier(tmp_path, ranks, seed):
    job, rank = classifier(seed, "barrier", ranks)
    trace = record(job, tmp_path, code=None)  # the ranks' later collectives meet the wrong ones
    finding = expect_finding(trace, "skipped-barrier", [rank], job.script)
    barrier = ddpscope.line_of(job.path, "    dist.barrier()")
    assert any(f"{job.script}:{barrier} " in frame for frame in ddpscope.frames(finding, (rank + 1) % ranks)), finding


@mostly
def test_a_collective_under_if_rank_0(tmp_path, ranks, seed):
    job, _ = classifier(seed, "log", ranks)
    trace = record(job, tmp_path, code=None)
    # Where most ranks agree with each other, the one that runs a call more is named alone.
    odd = [0] if ranks > 2 else [0, 1]
    expect_finding(trace, "mismatched-collective", odd, job.script, "dist.all_reduce(mean)  # for the log")


@mostly
def test_all_ranks_come(tmp_path, ranks, seed):
    job, _ = classifier(seed, "none", ranks)
    expect_nothing_found(record(job, tmp_path), ranks)


@pytest.mark.long
@mostly
def test_rank_0_evaluates_through_the_wrapper(tmp_path, ranks, seed):
    """Its forward broadcasts buffers, which meet the others' barrier."""
    job = Job("evaluated_on_main.py", ["--by", "wrapper", "--batches", 2 + seed % 3, "--timeout", SHORT_TIMEOUT_S], ranks)
    finding = ddpscope.report(record(job, tmp_path, code=None))["findings"]
    assert len(finding) == 1 and finding[0]["slug"] in ("mismatched-collective", "skipped-barrier"), finding
    line = ddpscope.line_of(job.path, "# on rank 0 alone")
    assert any(f"{job.script}:{line} " in frame for frame in ddpscope.frames(finding[0], 0)), finding


@both
@pytest.mark.long
def test_rank_0_evaluates_the_module(tmp_path, ranks, seed):
    job = Job("evaluated_on_main.py", ["--by", "module", "--batches", 2 + seed % 3], ranks, launcher="loop")
    expect_nothing_found(record(job, tmp_path), ranks)


def spawned(seed, ranks, *arguments):
    rng = ddpscope.draw(seed, f"cuda/spawned/{arguments}/{ranks}")
    path = f"model{rng.randrange(100)}.pt"
    return path, Job("spawned_ranks.py", [path, "--ranks", ranks, "--port", free_port(), *arguments], ranks, launcher="script")


@pytest.mark.long
@mostly
def test_nothing_orders_the_load_behind_the_save(tmp_path, ranks, seed):
    path, job = spawned(seed, ranks, "--no-barrier")
    finding = expect_finding(record(job, tmp_path), "missing-barrier", range(ranks), job.script, "torch.load(args.path")
    assert any(path in (step.get("file") or "") for step in evidence_of(finding, 0)), finding
    line = ddpscope.line_of(job.path, "torch.save(model.state_dict()")
    assert any(f"{job.script}:{line} " in frame for frame in ddpscope.frames(finding, 0)), finding


@both
@pytest.mark.long
def test_a_barrier_orders_the_load_behind_the_save(tmp_path, ranks, seed):
    _, job = spawned(seed, ranks)
    expect_nothing_found(record(job, tmp_path), ranks)


def prepared(seed, barrier, ranks):
    rng = ddpscope.draw(seed, f"cuda/prepared/{barrier}/{ranks}")
    return Job("prepared_by_main.py", [f"table{rng.randrange(100)}.json", "--barrier", barrier, "--rows", rng.randrange(100, 900)],
               ranks, launcher="loop")


@mostly
@pytest.mark.parametrize("barrier, slug", [
    ("wrong-device", "ineffective-barrier"), pytest.param("not-waited-for", "ineffective-barrier", marks=pytest.mark.long),
    pytest.param("none", "missing-barrier", marks=pytest.mark.long)])
def test_a_table_is_read_while_rank_0_writes_it(tmp_path, ranks, barrier, slug, seed):
    job = prepared(seed, barrier, ranks)
    if barrier == "wrong-device" and wheel.has_older_group():  # it knows the device from the collective before
        expect_nothing_found(record(job, tmp_path), ranks)
        return
    expect_finding(record(job, tmp_path), slug, range(ranks), job.script, "with open(path) as table:")


@mostly
def test_a_table_is_read_behind_the_barrier(tmp_path, ranks, seed):
    expect_nothing_found(record(prepared(seed, "plain", ranks), tmp_path), ranks)
