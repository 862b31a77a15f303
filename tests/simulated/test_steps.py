"""Training as many programs write it: healthy nobody is accused; one bug is found, with what it really costs.

What a bug costs is known: the same job is played without it.
"""
import dataclasses

import ddpscope
import pytest
import step_job
from judging import findings
from simulator import Simulation

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
JOBS = 12  # of a kind, each drawn anew
TIMED = [("collective",), ("collective", "kernel")]


def drawn(tmp_path, seed, kind, jobs=JOBS, **chosen):
    for number in range(jobs):
        rng = ddpscope.draw(seed, f"steps/{kind}/{number}")
        folder = tmp_path / str(number)
        folder.mkdir()
        yield step_job.draw(rng, **chosen), rng, folder


def play(job, seed):
    simulation = Simulation(step_job.build(job, seed))
    assert None not in simulation.ended, f"it stands still: {job}"
    return simulation


def judge(simulation, folder, timed):
    return findings(simulation, [max(simulation.ended) + 1] * len(simulation.ranks), folder, timed, watched=True)


def the_one(found, slug, job):
    assert [finding["slug"] for finding in found] == [slug], (job, found)
    return found[0]


def test_healthy(tmp_path, seed):
    for job, rng, folder in drawn(tmp_path, seed, "healthy", 3 * JOBS):
        timed = rng.choice([(), *TIMED])
        found = judge(play(job, seed), folder, timed)
        assert found == [], (job, timed, found)


def test_reduced_with_each_micro_batch(tmp_path, seed):
    for job, rng, folder in drawn(tmp_path, seed, "each", two_models=False, reduce_each=True):
        job.micro_batches = rng.choice([2, 4])
        finding = the_one(judge(play(job, seed), folder, ()), "redundant-accumulation-sync", job)
        assert finding["ranks"] == list(range(job.ranks)), (job, finding)
        assert f"{job.micro_batches} times" in finding["title"], (job, finding)


def test_reduced_with_the_first_micro_batch(tmp_path, seed):
    for job, rng, folder in drawn(tmp_path, seed, "first", two_models=False, reduce_first=True):
        job.micro_batches = rng.choice([2, 4])
        finding = the_one(judge(play(job, seed), folder, rng.choice([(), *TIMED])), "missing-gradient-sync", job)
        assert finding["ranks"] == list(range(job.ranks)), (job, finding)


def test_never_reduced(tmp_path, seed):
    for job, rng, folder in drawn(tmp_path, seed, "never", never=True, sharded=False, batch_norm=False, metrics=""):
        finding = the_one(judge(play(job, seed), folder, rng.choice([(), *TIMED])), "missing-gradient-sync", job)
        assert finding["ranks"] == list(range(job.ranks)), (job, finding)


def cost(job, seed, **bug):
    """(the job with the bug, as played; how much longer a step is for it; how long one is), in ms."""
    simulation = play(dataclasses.replace(job, **bug), seed)
    with_bug, without = step_job.seconds_a_step(simulation), step_job.seconds_a_step(play(job, seed))
    return simulation, 1e3 * (with_bug - without), 1e3 * with_bug


@pytest.mark.parametrize("why", ["device", "input", "host"])
def test_a_rank_is_late(tmp_path, seed, why):
    told = 0
    for job, rng, folder in drawn(tmp_path, seed, why, wait_every=1, lengths=0, two_models=False):
        work = job.micro_batches * (job.forward + job.backward)
        late = rng.randrange(job.ranks)
        simulation, lost_ms, step_ms = cost(job, seed, late=late, why=why, late_by=work * rng.uniform(0.02, 0.5))
        found = judge(simulation, folder, rng.choice(TIMED))
        if lost_ms > 0.08 * step_ms or found:
            finding = the_one(found, "straggler", job)
            assert finding["ranks"] == [late], (job, finding)
            assert 0.8 * lost_ms < finding["cost"]["ms_per_step"] < 1.1 * lost_ms + 0.05, (job, lost_ms, finding)
            told += 1
    assert told > JOBS / 4


def test_reduced_when_the_backward_pass_is_over(tmp_path, seed):
    told = 0
    for job, rng, folder in drawn(tmp_path, seed, "after", two_models=False, bytes_a_second=2e9):
        job.buckets = [rng.choice([800_000, 1_000_000])] * rng.choice([1, 3, 4, 5])
        simulation, lost_ms, step_ms = cost(job, seed, reduce_after=True)
        found = judge(simulation, folder, rng.choice(TIMED))
        if lost_ms > 0.1 * step_ms or found:
            finding = the_one(found, "exposed-communication", job)
            assert lost_ms > 0.03 * step_ms, (job, lost_ms, finding)
            assert 0.4 * lost_ms < finding["cost"]["ms_per_step"] < 1.5 * lost_ms, (job, lost_ms, finding)
            told += 1
    assert told > JOBS / 4
