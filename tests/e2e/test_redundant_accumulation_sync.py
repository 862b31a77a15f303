"""Gradients reduced after each micro-batch: found with what it costs."""
import re
import subprocess

import ddpscope
import pytest
import trainer

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


@trainer.everywhere
def test_sharded(tmp_path, ranks, seed):
    """Gradients are kept in parts: to reduce them in every micro-batch may be meant."""
    draw = trainer.Draw(seed, "sharded", ranks)
    finding = ddpscope.only_finding(trainer.fault("redundant-accumulation-sync/sharded", draw, tmp_path),
                                    "redundant-accumulation-sync")
    assert (finding["severity"], finding["ranks"]) == ("info", list(range(ranks)))
    trainer.assert_at(finding, finding["evidence"][0]["rank"], "ncclReduceScatter",
                      trainer.place("sharded_gradients.cpp", "group_.reduce_scatter("))


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_cost_is_stated(tmp_path, ranks):
    """How far it is from what the fix saves: unit tests with known gains, and tests/bench/sync_cost.py."""
    draw = trainer.Draw(ddpscope.SEEDS[0], "cost", ranks)
    draw.environment = {"STANDIN_LINK": "2ms,100MB/s"}
    finding = ddpscope.only_finding(
        trainer.fault("redundant-accumulation-sync/every-micro-batch", draw, tmp_path), "redundant-accumulation-sync")
    # Each set costs the link's latency at least, if backward has nothing left to hide it behind.
    assert finding["cost"]["ms_per_step"] > draw.accumulate - 1
