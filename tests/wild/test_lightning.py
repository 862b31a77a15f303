"""Lightning by its own launcher: the program is rank 0 and starts the others, with a number within the host only."""
import pathlib
import subprocess

import ddpscope
import pytest
import wheel

SCRIPT = pathlib.Path(__file__).parent / "jobs" / "lightning_fit.py"
SAMPLES = {"unsharded-sampler", "repeated-epoch-order"}  # in memory


broken = pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])


def report_of(folder, *arguments, ranks=2):
    done = ddpscope.record([wheel.python("--wild"), SCRIPT, "--ranks", str(ranks), *arguments], folder / "trace", folder,
                           env={"OMP_NUM_THREADS": "1"}, timeout=300)
    assert done.code == 0, done.stderr[-4000:]
    report = ddpscope.report(folder / "trace")
    assert report["job"]["ranks"] == ranks, report["job"]
    return report


def expect(report, slug, ranks, text):
    finding, = report["findings"]
    assert finding["slug"] == slug and finding["ranks"] == list(range(ranks)), finding
    line = ddpscope.line_of(SCRIPT, text)
    assert any(f"{SCRIPT.name}:{line} " in frame for frame in ddpscope.frames(finding, 0)), finding


def test_a_healthy_program_is_silent(tmp_path):
    """Of two micro-batches Lightning runs the first inside no_sync(), the second in a closure of the optimizer."""
    report = report_of(tmp_path)
    assert report["findings"] == [], report["findings"]
    unjudged = {slug for row in report["coverage"] for slug in row["unjudged"]}
    assert not unjudged & {"missing-gradient-sync", "redundant-accumulation-sync", "uneven-steps"}, report["coverage"]


@pytest.mark.long
@broken
def test_a_callback_saves_on_all_ranks(tmp_path, ranks):
    expect(report_of(tmp_path, "--save", "all", ranks=ranks), "duplicate-checkpoint-write", ranks, "# kept")


@broken
def test_a_learning_rate_follows_each_ranks_own_loss(tmp_path, ranks):
    """log() averages over the ranks only where it is asked to, and ReduceLROnPlateau takes what is logged."""
    expect(report_of(tmp_path, "--schedule", "own", ranks=ranks), "rank-divergence", ranks, "lightning.Trainer(")


@pytest.mark.long
def test_a_learning_rate_follows_the_mean_of_the_losses(tmp_path):
    assert report_of(tmp_path, "--schedule", "averaged")["findings"] == []


CLIPS = """import os, torch
for folder, count in (("clips", 96), ("held-out", 16)):
    os.mkdir(folder)
    for number in range(count):
        torch.save((torch.randn(32), torch.randn(1)), f"{folder}/{number}.pt")
"""


def samplers_of(folder, sampler, ranks=2):
    subprocess.run([wheel.python("--wild"), "-c", CLIPS], cwd=folder, check=True, timeout=120)
    return report_of(folder, "--clips", "96", "--sampler", sampler, ranks=ranks)


@broken
def test_a_sampler_that_is_switched_off(tmp_path, ranks):
    """What all ranks read alike before, when Lightning validates to see whether that works, is no excuse."""
    finding, = samplers_of(tmp_path, "off", ranks)["findings"]
    assert finding["slug"] == "unsharded-sampler" and finding["ranks"] == list(range(ranks)), finding
    line = ddpscope.line_of(SCRIPT, "return torch.load(")
    assert f"{SCRIPT.name}:{line} " in finding["title"], finding["title"]


@pytest.mark.long
def test_a_sampler_that_is_on(tmp_path):
    report = samplers_of(tmp_path, "on")
    assert report["findings"] == [], report["findings"]
    assert "unsharded-sampler" not in {slug for row in report["coverage"] for slug in row["unjudged"]}
