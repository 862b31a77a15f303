"""Every rule on samples, with clips kept in one of several ways and read by workers that start in one of several ways.

A seed draws stores and starts for each sampler, so that other seeds meet other pairs; DDPSCOPE_PAIRS=all takes every pair.
"""
import os

import ddpscope
import pytest
from jobs import SAMPLES, SCRIPTS, Job, expect_nothing_found, run_recorded
from stores import make_store

SCRIPT = SCRIPTS / "kept_clips.py"

# By store: what it reads clips by.
READERS = {"raw": "np.fromfile(", "array": '".npy"))', "saved": "torch.load(", "pickled": '".pkl"), "rb")',
           "wave": "wave.open(", "packed": "self.file = open(", "pread": "os.open(", "rows": "sqlite3.connect(",
           "members": "tarfile.open(", "zipped": "np.load(self.path)"}

# By start: workers that stay, as spawned ones mostly do, or new ones in each epoch.
STARTS = {"itself": ["--workers", 0], "fork": ["--workers", 2], "fork-persistent": ["--workers", 1, "--persistent"],
          "spawn": ["--start", "spawn", "--persistent"], "forkserver": ["--start", "forkserver", "--persistent"]}

# By sampler: what is found.
FAULTS = {"none": "unsharded-sampler", "ignored-index": "unsharded-sampler", "own-shuffle": "unsharded-sampler",
          "no-set-epoch": "repeated-epoch-order"}

# SQLite reads a page that it has in its cache no more, and those of its index again and again. Where one process reads
# all clips in each epoch, most batches show no read at all: which ranks train together is unjudged then.
UNSEEN = {("rows", sampler, start) for sampler in ("own-shuffle", "no-set-epoch") for start in STARTS} | {("rows", "none", "itself")}

STORES_EACH = 2 if os.environ.get("DDPSCOPE_RANKS") == "all" else 1


def pairs(seed):
    """Of a sampler, a store and a start; each store comes, each start with each fault within two seeds or so."""
    stores, starts = list(READERS), list(STARTS)
    for i, sampler in enumerate([*FAULTS, "distributed"]):
        for j, store in enumerate(stores):
            for k, start in enumerate(starts):
                drawn = (j - STORES_EACH * (i + seed)) % len(stores)
                chosen = drawn < STORES_EACH and k == (i + drawn + seed) % len(starts)
                if (chosen or os.environ.get("DDPSCOPE_PAIRS") == "all") and (store, sampler, start) not in UNSEEN:
                    yield sampler, store, start, seed


def record(folder, seed, store, options, ranks=2):
    rng = ddpscope.draw(seed, f"{store} {options}")
    clips = 48 * ranks + 4 * rng.randrange(4)
    job = Job("kept_clips.py", ranks=ranks, launcher="loop",
              arguments=["corpus", "--store", store, "--seed", rng.randrange(1000), *options])
    return run_recorded(job, folder, make_data=lambda root: make_store(root / "corpus", store, clips, seed))


def expect(trace, slug, ranks, store):
    finding = ddpscope.only_finding(trace, slug)
    assert finding["ranks"] == list(range(ranks))
    line = ddpscope.line_of(SCRIPT, READERS[store])
    for rank in range(ranks):
        frames = ddpscope.frames(finding, rank)
        assert any(f"kept_clips.py:{line} " in frame and ".load" in frame for frame in frames), (line, frames)


@pytest.mark.one_of(2)
@pytest.mark.parametrize("sampler, store, start, seed", [pair for seed in ddpscope.SEEDS for pair in pairs(seed)])
def test_pair(tmp_path, sampler, store, start, seed):
    trace = record(tmp_path, seed, store, ["--sampler", sampler, *STARTS[start]])
    if sampler in FAULTS:
        expect(trace, FAULTS[sampler], 2, store)
    else:
        expect_nothing_found(trace, 2)


@pytest.mark.long
@pytest.mark.parametrize("sampler, store", [("own-shuffle", "packed"), ("no-set-epoch", "saved")])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_four_ranks(tmp_path, sampler, store, seed):
    trace = record(tmp_path, seed, store, ["--sampler", sampler, *STARTS["fork-persistent"]], ranks=4)
    expect(trace, FAULTS[sampler], 4, store)


# Healthy: a curriculum by length, batches of clips of like length, draws with replacement, an evaluation of all by every
# rank, batches read far ahead.
@pytest.mark.parametrize("options", [
    pytest.param(["by-length"], marks=pytest.mark.long), pytest.param(["buckets"], marks=pytest.mark.long), pytest.param(["weighted"], marks=pytest.mark.long),
    ["distributed", "--evaluate", "--prefetch", 6]], ids=lambda options: options[0])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_look_alike(tmp_path, options, seed):
    rng = ddpscope.draw(seed, f"look-alike {options}")
    start = STARTS[rng.choice(["itself", "fork", "fork-persistent"])]
    trace = record(tmp_path, seed, rng.choice(sorted(set(READERS) - {"rows"})), ["--sampler", *options, *start])
    expect_nothing_found(trace, 2, SAMPLES)


# What no call shows, and what says nothing of samples.
@pytest.mark.parametrize("store, sampler, why", [
    ("mapped", "none", "memory-mapped"),
    pytest.param("raw", "as-listed", "from start to end", marks=pytest.mark.long)], ids=["mapped", "as-listed"])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_unjudged(tmp_path, store, sampler, why, seed):
    trace = record(tmp_path, seed, store, ["--sampler", sampler])
    expect_nothing_found(trace, 2, SAMPLES)
    assert [row for row in ddpscope.report(trace)["coverage"] if "unsharded-sampler" in row["unjudged"] and why in row["why"]]
