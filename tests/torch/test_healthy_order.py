"""Healthy PyTorch jobs that each order their files by something else: nothing is found, and what may stay unjudged is
stated. The table of README.md lists them.
"""
import ddpscope
import pytest
from jobs import FILES, SAMPLES, Job, expect_nothing_found, run_recorded

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)


@pytest.mark.long
@pytest.mark.parametrize("guard", ["inside", pytest.param("outside", marks=pytest.mark.long)])
def test_run_on_main(tmp_path, seed, guard):
    rng = ddpscope.draw(seed, f"run-on-main/{guard}")
    ranks = rng.choice([2, 3])
    # Outside, all ranks see the same answer as long as none is late: here the text is there before any of them asks.
    job = Job("speech_recipe.py", ranks=ranks, arguments=[
        "--out", f"results{rng.randrange(100)}", "--clips", rng.randrange(40, 90), "--guard", guard,
        *(["--text-is-there"] if guard == "outside" else [])])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES | FILES if guard == "outside" else SAMPLES)


@pytest.mark.long
def test_main_process_first(tmp_path, seed):
    rng = ddpscope.draw(seed, "main-first")
    ranks = rng.choice([2, 4])
    job = Job("glue_main_first.py", ranks=ranks, launcher="loop", arguments=[
        f"cache{rng.randrange(100)}", "--count", ranks * 8 * rng.randrange(2, 5), "--seed", rng.randrange(1000)])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


def test_cache_under_flock(tmp_path, seed):
    rng = ddpscope.draw(seed, "flock")
    ranks = rng.choice([2, 3])
    job = Job("cache_under_flock.py", ranks=ranks, launcher="loop", arguments=[".", "locked", rng.choice([0, 0.2])])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


@pytest.mark.long
def test_keys_of_the_store(tmp_path, seed):
    rng = ddpscope.draw(seed, "store")
    ranks = rng.choice([2, 4])
    job = Job("store_signals.py", ranks=ranks, launcher="loop", arguments=[
        f"run{rng.randrange(100)}", "vocabulary", rng.choice([0, 0.3])])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES | FILES)  # where keys of the store are not recorded


def test_subgroups(tmp_path, seed):
    rng = ddpscope.draw(seed, "subgroups")
    ranks = rng.choice([2, 4])
    job = Job("nodes_as_subgroups.py", ranks=ranks, arguments=[f"nodes{rng.randrange(100)}", "--rounds", rng.randrange(2, 4)])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


@pytest.mark.long
def test_probed_storage(tmp_path, seed):
    rng = ddpscope.draw(seed, "probed-storage")
    ranks = rng.choice([2, 4])
    job = Job("probed_storage.py", ranks=ranks, launcher="loop", arguments=[
        f"shared{rng.randrange(100)}", "--samples", rng.randrange(10_000, 200_000), "--late", rng.choice([0, 0.3])])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


@pytest.mark.parametrize("look", ["main", *(pytest.param(look, marks=pytest.mark.long) for look in ("agreed", "own", "until"))])
def test_features_if_missing(tmp_path, seed, look):
    rng = ddpscope.draw(seed, f"features/{look}")
    ranks = rng.choice([2, 4])
    job = Job("features_if_missing.py", ranks=ranks, launcher="loop", arguments=[
        f"cache{rng.randrange(100)}", "--look", look, "--late", rng.choice([0, 0.5])])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


@pytest.mark.long
def test_checkpoint_thread_that_is_waited_for(tmp_path, seed):
    rng = ddpscope.draw(seed, "thread")
    ranks, every = rng.choice([2, 3]), rng.randrange(2, 4)
    job = Job("checkpoint_in_thread.py", ranks=ranks, launcher="loop", arguments=[
        f"saved{rng.randrange(100)}", "--every", every, "--steps", every * rng.randrange(2, 4)])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES | FILES)  # Python threads tell each other by variables


@pytest.mark.parametrize("workers,more", [(2, []), pytest.param(1, ["--alive"], marks=pytest.mark.long)])
def test_barrier_beside_threads_of_python(tmp_path, seed, workers, more):
    rng = ddpscope.draw(seed, f"best/{workers}/{more}")
    ranks = rng.choice([2, 3])
    job = Job("restart_from_best.py", ranks=ranks, launcher="loop", arguments=[
        f"best{rng.randrange(100)}", "--workers", workers, "--epochs", rng.choice([2, 3]), "--seed", rng.randrange(1000), *more])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


def test_forked_writer_that_is_waited_for(tmp_path, seed):
    rng = ddpscope.draw(seed, "forked")
    ranks = rng.choice([2, 3])
    job = Job("forked_writer.py", ranks=ranks, arguments=[f"out{rng.randrange(100)}", "--snapshots", rng.randrange(2, 4)])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


@pytest.mark.long
def test_staging_rename_and_rotation(tmp_path, seed):
    rng = ddpscope.draw(seed, "rotation")
    ranks, limit = rng.choice([2, 4]), rng.randrange(1, 3)
    job = Job("keep_the_last.py", ranks=ranks, arguments=[
        f"out{rng.randrange(100)}", "--saves", limit + rng.randrange(1, 3), "--save-total-limit", limit])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


@pytest.mark.long
def test_one_database(tmp_path, seed):
    rng = ddpscope.draw(seed, "sqlite")
    ranks = rng.choice([2, 3])
    job = Job("results_in_sqlite.py", ranks=ranks, launcher="loop", arguments=["results.sqlite", rng.randrange(3, 8)])
    # SQLite reads a database's first bytes before it takes its lock, and again once it has it.
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES | {"missing-barrier", "divergent-existence-check"})


@pytest.mark.long
def test_sharded_safetensors(tmp_path, seed):
    pytest.importorskip("safetensors")
    rng = ddpscope.draw(seed, "safetensors")
    ranks = rng.choice([2, 4])
    job = Job("safetensors_shards.py", ranks=ranks, arguments=[f"model{rng.randrange(100)}", "--layers", rng.randrange(4, 9)])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


@pytest.mark.long
def test_rows_of_one_mapped_file(tmp_path, seed):
    rng = ddpscope.draw(seed, "mapped")
    ranks = rng.choice([2, 3])
    job = Job("mapped_features.py", ranks=ranks, launcher="loop", arguments=["features.npy", ranks * rng.randrange(6, 12), 16])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES | FILES)  # what is written through a mapping


@pytest.mark.long
@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.long)])
def test_what_multiprocessing_offers(tmp_path, seed, method):
    rng = ddpscope.draw(seed, f"pool/{method}")
    ranks = rng.choice([2, 3])
    job = Job("pool_of_processes.py", ranks=ranks, launcher=False, arguments=[f"run{rng.randrange(100)}", ranks, method])
    # Semaphores that processes share keep no owner; nothing says that these processes are ranks of one job.
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES | FILES | {"no-process-group"})


@pytest.mark.long
def test_published_by_rename(tmp_path, seed):
    rng = ddpscope.draw(seed, "publish")
    ranks = rng.choice([2, 3])
    job = Job("publish_by_rename.py", ranks=ranks, launcher="loop", arguments=[f"run{rng.randrange(100)}", rng.randrange(3, 7)])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES | FILES)


@pytest.mark.long
def test_broadcast_folder(tmp_path, seed):
    rng = ddpscope.draw(seed, "broadcast")
    ranks = rng.choice([2, 3])
    job = Job("broadcast_folder.py", ranks=ranks, arguments=[f"save{rng.randrange(100)}", "--intervals", rng.randrange(2, 5)])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES)


@pytest.mark.long
def test_log_of_all_ranks(tmp_path, seed):
    rng = ddpscope.draw(seed, "log")
    ranks = rng.choice([2, 4])
    job = Job("shared_log.py", ranks=ranks, launcher="loop", arguments=["all.jsonl", "--steps", rng.randrange(4, 9)])
    expect_nothing_found(run_recorded(job, tmp_path), ranks, SAMPLES | FILES)
