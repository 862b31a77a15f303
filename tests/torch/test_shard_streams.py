"""Shards that are read from front to back tell nothing of samples: healthy ranks are silent, and what can't be judged is said."""
import ddpscope
import pytest
from jobs import SAMPLES, Job, expect_nothing_found, run_recorded
from stores import SHARDS, make_clip_shards


def record(folder, seed, split):
    rng = ddpscope.draw(seed, f"streams/{split}")
    ranks, kind = rng.choice([2, 3]), rng.choice(sorted(SHARDS))
    options = ["--kind", kind, "--split", split, "--workers", rng.choice([0, 1]), "--buffer", rng.choice([1, 12])]
    if rng.choice([True, False]):
        options.append("--shuffle")
    job = Job("shard_streams.py", ranks=ranks, launcher="loop", arguments=["corpus", *options])
    shards, clips = ranks * rng.randrange(16, 20), rng.choice([8, 16])
    return run_recorded(job, folder, make_data=lambda root: make_clip_shards(root / "corpus", kind, shards, clips, seed)), ranks


# Each has shards of its own; all read all and keep every n-th clip; rank 0 reads and sends.
@pytest.mark.parametrize("split", [*(pytest.param(split, marks=pytest.mark.long) for split in ("shards", "clips")), "dispatched"])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_healthy(tmp_path, split, seed):
    # Whether a wait for a batch is for the one who reads it, or for a rank that is late, is not seen.
    hands_out = {"straggler"} if split == "dispatched" else set()
    expect_nothing_found(*record(tmp_path, seed, split), SAMPLES | hands_out)


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_nobody_splits(tmp_path, seed):
    """A bug, but no call differs from those of ranks that each keep their own clips."""
    trace, ranks = record(tmp_path, seed, "nobody")
    expect_nothing_found(trace, ranks, SAMPLES)
    # Which of the two is said depends on how many files a rank reads in a step.
    reasons = "reads its data from start to end", "read from the start of a file to its end"
    assert any(set(row["unjudged"]) >= SAMPLES and any(reason in row["why"] for reason in reasons)
               for row in ddpscope.report(trace)["coverage"])
