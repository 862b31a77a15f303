"""Healthy uses of the packages, with other sizes, options and ranks for each seed: tests/run.sh --long silence_wild has 20 seeds.

Left out are coqui-tts-trainer, whose release 0.4.0 drops the wrapper in each distributed job, and SpeechBrain's tokenizer, which still fails on
a rank that comes late.
"""
import pathlib
import subprocess

import ddpscope
import lingua_jobs
import pytest
import speechbrain_jobs
import wheel

SCRIPTS = pathlib.Path(__file__).parent / "jobs"
pytestmark = [pytest.mark.long, pytest.mark.parametrize("seed", ddpscope.SEEDS)]


def expect_silence(report, *apart):
    assert [finding for finding in report["findings"] if finding["slug"] not in apart or finding["severity"] != "info"] == []


def torchrun(option, ranks):
    return [wheel.python(option), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks]


def report_of(folder, ranks, *command):
    done = ddpscope.record(list(command), folder / "trace", folder, env={"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}, timeout=400)
    assert done.code == 0, done.stderr[-4000:]
    report = ddpscope.report(folder / "trace")
    assert report["job"]["ranks"] == ranks, report["job"]
    return report


SPEECHBRAIN = {
    "saves-on-main": lambda rng: ["speechbrain_checkpoints.py", "--save", "main", "--epochs", rng.randint(2, 5), "--steps", rng.randint(2, 8)],
    "keeps-the-newest": lambda rng: ["speechbrain_checkpoints.py", "--save", "all", "--epochs", rng.randint(3, 8), "--steps", rng.randint(2, 6)],
    "prepares": lambda rng: ["speechbrain_prepared.py", "--group", "gloo", "--clips", rng.randint(50, 40000), "--takes", rng.choice([0, 1])],
    "prepares-nccl": lambda rng: ["speechbrain_prepared.py", "--group", "nccl", "--clips", rng.randint(50, 40000), "--takes", rng.choice([0, 1])],
    "regions-in-each-other": lambda rng: ["speechbrain_nested.py"],
    "logs": lambda rng: ["speechbrain_logged.py", "--to", rng.choice(["log.txt", "logs/log.txt"]), "--clips", rng.randint(50, 5000)],
    "on-nodes": lambda rng: ["speechbrain_on_nodes.py", "--parameters", rng.randint(1000, 4_000_000)],
}


@pytest.mark.parametrize("use", SPEECHBRAIN)
def test_speechbrain(tmp_path, use, seed):
    rng = ddpscope.draw(seed, f"wild/speechbrain/{use}")
    script, *arguments = SPEECHBRAIN[use](rng)
    version = rng.choice(["1.0.2", "1.1.2"])
    how = {"by": "nodes"} if use == "on-nodes" else {"cpu": use == "prepares-nccl"}
    ranks = rng.choice([2, 4]) if use == "on-nodes" else rng.choice([2, 3, 4])
    expect_silence(speechbrain_jobs.record(version, script, tmp_path, *map(str, arguments), ranks=ranks, **how))


@pytest.mark.parametrize("loader", ["in-memory", "clips"])
def test_lightning(tmp_path, loader, seed):
    """By its own launcher."""
    rng = ddpscope.draw(seed, f"wild/lightning/{loader}")
    ranks, arguments = rng.choice([2, 3, 4]), ["--accumulate", rng.randint(1, 3)]
    if loader == "clips":
        clips = ranks * rng.randint(30, 50)
        make = ("import os, sys, torch\nfor folder, count in (('clips', int(sys.argv[1])), ('held-out', 16)):\n"
                "    os.mkdir(folder)\n    for number in range(count):\n"
                "        torch.save((torch.randn(32), torch.randn(1)), f'{folder}/{number}.pt')\n")
        subprocess.run([wheel.python("--wild"), "-c", make, str(clips)], cwd=tmp_path, check=True, timeout=120)
        arguments += ["--clips", clips]
    expect_silence(report_of(tmp_path, ranks, wheel.python("--wild"), SCRIPTS / "lightning_fit.py", "--ranks", ranks, *arguments))


def test_hydra(tmp_path, seed):
    """Each rank writes the settings: no more than an info."""
    rng = ddpscope.draw(seed, "wild/hydra")
    ranks = rng.choice([2, 3, 4])
    expect_silence(report_of(tmp_path, ranks, *torchrun("--wild", ranks), SCRIPTS / "hydra_regression.py", "hydra.run.dir=out/kept",
                             f"epochs={rng.randint(2, 6)}", f"batch={rng.choice([1, 4, 8, 32])}", f"model.hidden={rng.choice([16, 64, 256])}",
                             f"model.layers={rng.randint(1, 4)}"), "duplicate-checkpoint-write")


def test_accelerate(tmp_path, seed):
    rng = ddpscope.draw(seed, "wild/accelerate")
    ranks = rng.choice([2, 3, 4])
    expect_silence(report_of(tmp_path, ranks, *torchrun("--frameworks", ranks), SCRIPTS / "accelerated_clips.py", "out",
                             "--clips", rng.randint(80, 200)))


def test_transformers(tmp_path, seed):
    rng = ddpscope.draw(seed, "wild/transformers")
    ranks = rng.choice([2, 3, 4])
    expect_silence(report_of(tmp_path, ranks, *torchrun("--frameworks", ranks), SCRIPTS / "trainer_fit.py", "out", "--batch", rng.choice([2, 4]),
                             "--accumulate", rng.randint(1, 3), "--seed", rng.randrange(1000)))


@pytest.mark.parametrize("use", ["accumulates", "replicas-of-shards"])
def test_lingua(tmp_path, use, seed):
    rng = ddpscope.draw(seed, f"wild/lingua/{use}")
    ranks = 6 if use == "replicas-of-shards" else rng.choice([2, 4])
    expect_silence(lingua_jobs.record(tmp_path, ranks, "--micro-batches", str(rng.randint(2, 4) if use == "accumulates" else 1),
                                      "--width", str(rng.choice([24, 32, 64])), "--steps", str(rng.randint(8, 16)), seed=seed))
