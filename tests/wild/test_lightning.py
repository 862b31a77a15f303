"""Lightning by its own launcher: the program is rank 0 and starts the others, with a number within the host only."""
import pathlib
import subprocess

import ddpscope
import pytest
import wheel

SCRIPT = pathlib.Path(__file__).parent / "jobs" / "lightning_fit.py"
SAMPLES = {"unsharded-sampler", "repeated-epoch-order"}  # in memory


def report_of(folder, *arguments):
    done = ddpscope.record([wheel.python("--wild"), SCRIPT, "--ranks", "2", *arguments], folder / "trace", folder,
                           env={"OMP_NUM_THREADS": "1"}, timeout=300)
    assert done.code == 0, done.stderr[-4000:]
    report = ddpscope.report(folder / "trace")
    assert report["job"]["ranks"] == 2, report["job"]
    return report


def test_a_healthy_program_is_silent(tmp_path):
    """Of two micro-batches Lightning runs the first inside no_sync(), the second in a closure of the optimizer."""
    report = report_of(tmp_path)
    assert report["findings"] == [], report["findings"]
    unjudged = {slug for row in report["coverage"] for slug in row["unjudged"]}
    assert not unjudged & {"missing-gradient-sync", "redundant-accumulation-sync", "uneven-steps"}, report["coverage"]


def test_a_callback_saves_on_all_ranks(tmp_path):
    finding, = report_of(tmp_path, "--save", "all")["findings"]
    assert finding["slug"] == "duplicate-checkpoint-write" and finding["ranks"] == [0, 1], finding
    line = ddpscope.line_of(SCRIPT, "# kept")
    assert any(f"{SCRIPT.name}:{line} " in frame for frame in ddpscope.frames(finding, 0)), finding


CLIPS = """import os, torch
for folder, count in (("clips", 96), ("held-out", 16)):
    os.mkdir(folder)
    for number in range(count):
        torch.save((torch.randn(32), torch.randn(1)), f"{folder}/{number}.pt")
"""


def samplers_of(folder, sampler):
    subprocess.run([wheel.python("--wild"), "-c", CLIPS], cwd=folder, check=True, timeout=120)
    return report_of(folder, "--clips", "96", "--sampler", sampler)


def test_a_sampler_that_is_switched_off(tmp_path):
    """What all ranks read alike before, when Lightning validates to see whether that works, is no excuse."""
    finding, = samplers_of(tmp_path, "off")["findings"]
    assert finding["slug"] == "unsharded-sampler" and finding["ranks"] == [0, 1], finding
    line = ddpscope.line_of(SCRIPT, "return torch.load(")
    assert f"{SCRIPT.name}:{line} " in finding["title"], finding["title"]


@pytest.mark.long
def test_a_sampler_that_is_on(tmp_path):
    report = samplers_of(tmp_path, "on")
    assert report["findings"] == [], report["findings"]
    assert "unsharded-sampler" not in {slug for row in report["coverage"] for slug in row["unjudged"]}
