"""Nothing is found on healthy jobs: plain runs, every look-alike of the table of faults, jobs killed at any moment."""
import json
import os
import signal
import subprocess
import time

import ddpscope
import pytest
import trainer

TWINS = [row["name"] for row in trainer.TABLE["twins"]]

# What of a look-alike cannot be judged yet: each rank reads the whole file and keeps every Nth line, or reads as the
# data lies, which may be the same: what it trains on does not show in its reads.
# Of mapped data no read shows the samples, and that batches differ does not prove that samples do.
UNJUDGED = {twin: {"unsharded-sampler", "repeated-epoch-order"}
            for twin in ("interleaved-lines", "sequential-sampler", "memory-mapped", "shared-masks",
                         "offloaded-parameters")}
# Likewise in short jobs: parameters are averaged too seldom to tell by it who trains together.
UNJUDGED_IF_SHORT = {"local-sgd": {"unsharded-sampler", "repeated-epoch-order"}}


def unjudged(twin, ranks):
    # Of more than two ranks no communicator has all, so none says which rank each process is.
    if twin == "subgroups-only" and ranks > 2:
        return {"rank-mismatch"}
    # One pair has nobody to be data-parallel with.
    if twin == "tensor-parallel" and ranks == 2:
        return {"unsharded-sampler", "repeated-epoch-order"}
    return UNJUDGED.get(twin, set())


@trainer.everywhere
def test_healthy(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "healthy", ranks)
    trainer.assert_silent(trainer.train(draw, tmp_path))


@pytest.mark.one_of(2)
@trainer.everywhere
@pytest.mark.parametrize("twin", TWINS)
def test_look_alike(tmp_path, twin, ranks, seed):
    draw = trainer.Draw(seed, twin, ranks)
    trace = trainer.train(draw, tmp_path, "--twin", twin, "--fault-rank", draw.rank)
    trainer.assert_silent(trace, unjudged(twin, ranks), UNJUDGED_IF_SHORT.get(twin, set()))


@trainer.everywhere
@pytest.mark.parametrize("twin", [None, "memory-mapped"])
def test_resumed(tmp_path, twin, ranks, seed):
    """Nor are batches that are judged by what is copied to the devices: all ranks restore the same state there."""
    draw = trainer.Draw(seed, "resume", ranks)
    arguments = [trainer.TRAINER, *draw.arguments(), "--workdir", tmp_path / "out", *(["--twin", twin] if twin else [])]
    first = ddpscope.record([*arguments, "--steps", 2, "--checkpoint-every", 2], tmp_path / "first", tmp_path, cpu=True)
    assert first.code == 0, first.stderr[-2000:]
    second = ddpscope.record([*arguments, "--resume"], tmp_path / "second", tmp_path, cpu=True)
    assert second.code == 0, second.stderr[-2000:]
    trainer.assert_silent(tmp_path / "second", unjudged(twin, ranks))


@trainer.everywhere
def test_killed_at_any_moment(tmp_path, ranks, seed):
    """A job that is killed as a whole is not hung, and did not skip what its peers did not come to either."""
    draw = trainer.Draw(seed, "killed", ranks)
    draw.epochs = 5000
    command = [trainer.ddpscope.DDPSCOPE, "run", "--cpu", "-o", tmp_path / "trace", "--", trainer.TRAINER,
               *draw.arguments(), "--workdir", tmp_path / "out"]
    job = subprocess.Popen([str(word) for word in command], cwd=tmp_path, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(draw.rng.uniform(0.5, 4))
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    result = ddpscope.report(tmp_path / "trace")
    assert result["findings"] == [], json.dumps(result["findings"], indent=1)[:4000]


@trainer.everywhere
def test_interrupted_at_any_moment(tmp_path, ranks, seed):
    """Nor is one whose end `run` saw."""
    draw = trainer.Draw(seed, "interrupted", ranks)
    draw.epochs = 5000
    how = draw.rng.choice([signal.SIGINT, signal.SIGTERM])
    trace = trainer.train_and_signal(draw, tmp_path, how, lambda folder: time.sleep(draw.rng.uniform(0.5, 4)))
    result = ddpscope.report(trace)
    assert result["findings"] == [], json.dumps(result["findings"], indent=1)[:4000]
