"""Gradients reduced after each micro-batch: found with what it costs, as measured against the fixed program."""
import re
import subprocess

import ddpscope
import pytest
import trainer

# Ranks and link, latency before bandwidth and the other way round. Slow enough that the link, not the noise of a busy
# machine, is what the two programs differ in.
LINKS = [(2, "5ms,20MB/s"), (4, "1ms,5MB/s")]


def mean_step_ms(folder, draw, *extra):
    done = ddpscope.start([ddpscope.DDPSCOPE, "run", "--cpu", "-o", folder / "trace", "--", trainer.TRAINER,
                           *draw.arguments(), "--workdir", folder / "out", *extra], folder, draw.environment, timeout=240)
    assert done.code == 0, done.stderr[-2000:]
    return float(re.search(r"mean step ([0-9.]+) ms", done.stdout).group(1))


def assert_steps(folder, draw):
    """`info` tells how each rank's time line falls into steps."""
    done = subprocess.run([ddpscope.DDPSCOPE, "info", folder / "trace"], capture_output=True, text=True, check=True)
    steps = re.findall(r"^  steps     (\d+), by the name of the kernel adamw \(certain\)\n"
                       r"  micro-batches (\d+) a step, by what is copied to the device \(likely\)$", done.stdout, re.MULTILINE)
    assert steps == [(str(draw.epochs * draw.steps_per_epoch), str(draw.accumulate))] * draw.ranks


@trainer.everywhere
@pytest.mark.parametrize("variant", ["every-micro-batch", "no-sync-around-backward"])
def test_every_micro_batch(tmp_path, variant, ranks, seed):
    draw = trainer.Draw(seed, variant, ranks)
    finding = ddpscope.only_finding(trainer.fault(f"redundant-accumulation-sync/{variant}", draw, tmp_path),
                                    "redundant-accumulation-sync")
    assert finding["ranks"] == list(range(ranks))
    assert finding["cost"]["bytes_per_step"] > 0
    trainer.assert_at(finding, finding["evidence"][0]["rank"], "ncclAllReduce", trainer.place("gradient_buckets.cpp", "group_.all_reduce("))
    trainer.assert_ends_a_step(finding)
    assert_steps(tmp_path, draw)


@pytest.mark.parametrize("ranks, link", LINKS)
def test_cost_is_what_the_fix_saves(tmp_path, ranks, link):
    """With a modelled link the stated cost agrees with the measured gap to the fixed program within 30 %."""
    means = {}
    for kind, extra in (("fixed", []), ("faulty", ["--fault", "redundant-accumulation-sync/every-micro-batch"])):
        draw = trainer.Draw(ddpscope.SEEDS[0], "cost", ranks)
        draw.steps_per_epoch = 8
        draw.accumulate = 4
        draw.width = 32
        draw.environment = {"STANDIN_LINK": link}
        tries = []
        for name in ("first", "second"):
            folder = tmp_path / kind / name
            folder.mkdir(parents=True)
            tries.append(mean_step_ms(folder, draw, *extra))
        means[kind] = min(tries)  # what else runs on the machine only adds
    finding = ddpscope.only_finding(tmp_path / "faulty" / "second" / "trace", "redundant-accumulation-sync")
    gap = means["faulty"] - means["fixed"]
    assert abs(finding["cost"]["ms_per_step"] - gap) <= 0.3 * gap, (finding["cost"], means)
