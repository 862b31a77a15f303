"""One rank on Gloo keeps the others waiting, step after step, or does not: by when their collectives ran."""
import ddpscope
import pytest
from jobs import SAMPLES, SCRIPTS, Job, evidence_of, expect_nothing_found, run_recorded

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
SCRIPT = SCRIPTS / "slow_rank.py"
# Ranks that sleep need no processors: what they wait for these stays below what they wait for the slow one.
LATE_S = 0.15


def run(folder, seed, way, ranks):
    rng = ddpscope.draw(seed, f"straggler/{way}/{ranks}")
    rank = rng.randrange(ranks)
    job = Job(SCRIPT.name, ranks=ranks, launcher="loop",
              arguments=["--way", way, "--rank", rank, "--late", LATE_S, "--steps", rng.randrange(56, 64)])
    return rank, run_recorded(job, folder)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("way, said", [("host", "its host is late, and no call of it says why"), ("input", "it waits for its input, "),
                                       pytest.param("files", "it is inside calls on files, ", marks=pytest.mark.long)])
def test_the_slow_rank_is_named(tmp_path, seed, way, said, ranks):
    rank, trace = run(tmp_path, seed, way, ranks)
    finding = ddpscope.only_finding(trace, "straggler")
    assert finding["ranks"] == [rank] and said in finding["title"], finding
    assert finding["cost"]["ms_per_step"] > LATE_S * 1000 / 4, finding
    info = ddpscope.start([ddpscope.DDPSCOPE, "info", trace], tmp_path).stdout
    waits_ms = [float(row.split()[7]) for row in info.split("\non Gloo ")[1].splitlines() if row.startswith("all-reduce ")]
    assert max(waits_ms) > LATE_S * 1000 / 4, info
    backward = ddpscope.line_of(SCRIPT, "loss.backward()")
    assert any(f"{SCRIPT.name}:{backward} " in frame for step in evidence_of(finding, rank) for frame in step["stack"]), finding


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("way", ["in-turn", *(pytest.param(way, marks=pytest.mark.long) for way in ("seldom", "evenly", "a-little"))])
def test_nobody_is_slow(tmp_path, seed, way, ranks):
    _, trace = run(tmp_path, seed, way, ranks)
    expect_nothing_found(trace, ranks, SAMPLES)
