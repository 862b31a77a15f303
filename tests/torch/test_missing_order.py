"""PyTorch jobs in which a rank uses a file that another one writes, and nothing orders the two: found, with the ranks, the
file and both lines.
"""
import ddpscope
import pytest
from jobs import (
    FILES, SAMPLES, SCRIPTS, Job, evidence_of, expect_nothing_found, expect_race, known_gap, run_recorded)

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)

# The late rank is late so that the job survives its bug: what reads too early ends with an exception.
LATE = [1, 1.5]


@pytest.mark.long
def test_barriers_of_a_group_that_is_made_later(tmp_path, seed):
    rng = ddpscope.draw(seed, "group-late")
    ranks, out = rng.choice([2, 3]), f"results{rng.randrange(100)}"
    job = Job("speech_recipe.py", ranks=ranks, arguments=["--out", out, "--group", "late", "--late", rng.choice(LATE)])
    expect_race(run_recorded(job, tmp_path), "speech_recipe.py", f"{out}/train.csv", 0, 'with open(manifest, "w"',
                range(1, ranks), 'with open(manifest, newline="")')


def test_barrier_behind_a_check_that_ranks_answer_differently(tmp_path, seed):
    rng = ddpscope.draw(seed, "guard-outside")
    out = f"results{rng.randrange(100)}"
    job = Job("speech_recipe.py", arguments=["--out", out, "--guard", "outside", "--late", rng.choice(LATE)])
    trace = run_recorded(job, tmp_path, code=1)  # the late rank finds no model
    slugs = {finding["slug"] for finding in ddpscope.report(trace)["findings"]}
    if slugs == {"divergent-existence-check"}:
        return
    expect_race(trace, "speech_recipe.py", f"{out}/pieces.model", 0, "torch.save({\"pieces\"", [1], "torch.load(model)")


@pytest.mark.long
def test_check_around_a_barrier(tmp_path, seed):
    """Who finds the features leaves out a barrier and reads the statistics too early: the check is to blame."""
    rng = ddpscope.draw(seed, "check-around")
    ranks, out = rng.choice([2, 4]), f"cache{rng.randrange(100)}"
    job = Job("features_if_missing.py", ranks=ranks, launcher="loop", arguments=[
        out, "--look", "around", "--late", rng.choice(LATE)])
    # Who saw no need to wait finds no statistics, or is one collective ahead until Gloo gives up.
    trace = run_recorded(job, tmp_path, code=1)
    finding = ddpscope.only_finding(trace, "divergent-existence-check")
    assert finding["severity"] == "error" and finding["consequences"] == ["missing-barrier"]
    assert {0, ranks - 1} <= set(finding["ranks"])
    script = SCRIPTS / "features_if_missing.py"
    look = ddpscope.line_of(script, "elif not os.path.exists(path):")
    assert f"rank 0 finds no {tmp_path}/recorded/{out}/features.npy at {script}:{look} features" in finding["title"]
    shown = ddpscope.frames(finding, 0)
    for text in ("dist.barrier()  # of those that look in vain", "np.savez(statistics"):
        assert any(f"{script.name}:{ddpscope.line_of(script, text)} " in frame for frame in shown), text
    early = ddpscope.line_of(script, "np.load(statistics)")
    assert any(f"{script.name}:{early} " in frame for rank in finding["ranks"] for frame in ddpscope.frames(finding, rank))


def test_readers_that_take_no_lock(tmp_path, seed):
    rng = ddpscope.draw(seed, "no-lock")
    ranks = rng.choice([2, 3])
    job = Job("cache_under_flock.py", ranks=ranks, launcher="loop", arguments=[".", "hurry", rng.choice(LATE)])
    expect_race(run_recorded(job, tmp_path), "cache_under_flock.py", "features0.npy", 0, 'with open(path, "wb")',
                range(1, ranks), "else features_in_a_hurry(")


@pytest.mark.long
def test_wait_for_another_key_of_the_store(tmp_path, seed):
    rng = ddpscope.draw(seed, "other-key")
    ranks, out = rng.choice([2, 3]), f"run{rng.randrange(100)}"
    job = Job("store_signals.py", ranks=ranks, launcher="loop", arguments=[out, "folder", rng.choice(LATE)])
    trace = run_recorded(job, tmp_path)
    known_gap(trace, "keys of a store")
    expect_race(trace, "store_signals.py", f"{out}/vocabulary.pt", 0, "torch.save(torch.randperm", range(1, ranks),
                "vocabulary = torch.load(path)")


@pytest.mark.long
def test_barrier_of_the_wrong_group(tmp_path, seed):
    rng = ddpscope.draw(seed, "wrong-group")
    out = f"nodes{rng.randrange(100)}"
    job = Job("nodes_as_subgroups.py", ranks=3, arguments=[out, "--statistics", "node", "--late", rng.choice(LATE)])
    trace = run_recorded(job, tmp_path)
    expect_race(trace, "nodes_as_subgroups.py", f"{out}/statistics", 0, "np.savez(statistics", [2], "np.load(statistics)")


@pytest.mark.long
def test_child_that_nobody_waits_for(tmp_path, seed):
    rng = ddpscope.draw(seed, "child")
    ranks, out = rng.choice([2, 3]), f"out{rng.randrange(100)}"
    job = Job("forked_writer.py", ranks=ranks, launcher="loop", arguments=[out, "--join", "after", "--late", rng.choice(LATE)])
    expect_race(run_recorded(job, tmp_path), "forked_writer.py", f"{out}/snapshot", 0, 'with open(path, "wb")',
                range(1, ranks), "np.load(path)")


@pytest.mark.long
def test_thread_that_nobody_waits_for(tmp_path, seed):
    rng = ddpscope.draw(seed, "forgotten-thread")
    job = Job("checkpoint_in_thread.py", launcher="loop", arguments=["saved", "--forget", "--late", rng.choice(LATE)])
    trace = run_recorded(job, tmp_path, code=None)  # on a busy machine rank 0 itself comes too early, and fails
    # Found if the thread was still writing when rank 0 came to the barrier; otherwise it may have told the main thread
    # by a variable, and that stays unjudged.
    if not ddpscope.report(trace)["findings"]:
        return expect_nothing_found(trace, 2, SAMPLES | FILES)
    expect_race(trace, "checkpoint_in_thread.py", "saved/step9.pt", 0, 'with open(os.path.join(self.folder', [1],
                'restored = torch.load')


@pytest.mark.long
@pytest.mark.parametrize("workers,more", [(2, []), *(pytest.param(workers, ["--alive"], marks=pytest.mark.long) for workers in (0, 1))])
def test_barrier_forgotten_beside_threads_of_python(tmp_path, seed, workers, more):
    """A loader's feeders and a thread that is alive run Python, and hear nothing of another rank."""
    rng = ddpscope.draw(seed, f"best/{workers}/{more}")
    ranks, out = rng.choice([2, 3]), f"best{rng.randrange(100)}"
    job = Job("restart_from_best.py", ranks=ranks, launcher="loop", arguments=[
        out, "--workers", workers, "--forget", "--late", rng.choice([2, 2.5]), *more])
    trace = run_recorded(job, tmp_path)
    expect_race(trace, "restart_from_best.py", f"{out}/epoch0.pt", 0, "torch.save(model", range(1, ranks), "torch.load(path)")
    finding = ddpscope.only_finding(trace, "missing-barrier")
    assert (finding["severity"], finding["confidence"]) == ("error", "certain")
    assert not [row for row in ddpscope.report(trace)["coverage"] if "missing-barrier" in row["unjudged"]]


@pytest.mark.long
def test_data_that_is_slept_for(tmp_path, seed):
    rng = ddpscope.draw(seed, "slept-for")
    ranks, root = rng.choice([2, 3]), f"shared{rng.randrange(100)}"
    job = Job("probed_storage.py", ranks=ranks, launcher="loop", arguments=[
        root, "--wait", "sleep", "--late", rng.choice([0, 0.3])])
    expect_race(run_recorded(job, tmp_path), "probed_storage.py", f"{root}/cache/tokens/train.txt", 0, "table.write_text",
                range(1, ranks), "letters = table.read_text()")


@pytest.mark.long
def test_name_that_is_broadcast_too_early(tmp_path, seed):
    rng = ddpscope.draw(seed, "broadcast-early")
    ranks, out = rng.choice([2, 3]), f"save{rng.randrange(100)}"
    job = Job("broadcast_folder.py", ranks=ranks, launcher="loop", arguments=[
        out, "--broadcast", "before", "--late", rng.choice(LATE)])
    expect_race(run_recorded(job, tmp_path), "broadcast_folder.py", f"{out}/CKPT+", 0, "torch.save(weights",
                range(1, ranks), 'torch.load(folder / "model.ckpt")')


@pytest.mark.long
def test_summary_that_waits_for_nobody(tmp_path, seed):
    rng = ddpscope.draw(seed, "summary")
    ranks, log = rng.choice([2, 3]), f"metrics{rng.randrange(100)}.jsonl"
    job = Job("shared_log.py", ranks=ranks, launcher="loop", arguments=[log, "--summary", "when-rank-0-has"])
    trace = run_recorded(job, tmp_path)
    finding = ddpscope.only_finding(trace, "missing-barrier")
    assert 0 in finding["ranks"] and set(finding["ranks"]) <= set(range(ranks))
    line = ddpscope.line_of(SCRIPTS / "shared_log.py", "with open(args.log)")
    assert any(f"shared_log.py:{line} " in frame for frame in ddpscope.frames(finding, 0))
    assert any(log in (step.get("file") or "") for step in evidence_of(finding, 0))
