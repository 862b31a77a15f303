"""Healthy programs that look like a fault really are healthy."""

import re
import subprocess

import pytest

from trainer_job import TRAINER, environment, train


def twins():
    table = subprocess.check_output([TRAINER, "--list-faults"], env=environment(), text=True)
    return [row.split("\t")[1] for row in table.splitlines() if row.startswith("twin\t")]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("twin", twins())
def test_twin_is_healthy(tmp_path, twin, ranks):
    train(tmp_path, "--twin", twin, ranks=ranks).expect_healthy(ranks)


def test_broadcast_guard_prepares_once(tmp_path):
    train(tmp_path, "--twin", "broadcast-guard").expect_healthy(2)
    manifest = tmp_path / "data" / "manifest.txt"
    written = manifest.stat().st_mtime_ns
    train(tmp_path, "--twin", "broadcast-guard").expect_healthy(2)
    assert manifest.stat().st_mtime_ns == written


def test_sharded_checkpoints_differ(tmp_path):
    train(tmp_path, "--twin", "sharded-checkpoint").expect_healthy(2)
    shards = sorted((tmp_path / "checkpoints").glob("step_000004.shard_*_of_2.bin"))
    assert len(shards) == 2
    assert shards[0].read_bytes() != shards[1].read_bytes()


def test_padding_repeats_samples(tmp_path):
    job = train(tmp_path, "--twin", "padded-sampler").expect_healthy(2)
    assert sum(samples for (epoch, _), (samples, _) in job.batches.items() if epoch == 1) == 256 > 256 - 19


def test_lines_are_dealt_out(tmp_path):
    job = train(tmp_path, "--twin", "interleaved-lines").expect_healthy(2)
    assert job.batches[1, 0] != job.batches[1, 1]


def test_two_optimizers_train_two_models(tmp_path):
    one, two = train(tmp_path / "one"), train(tmp_path / "two", "--twin", "two-optimizers")
    assert two.training_losses == one.training_losses, "the first model is the same"
    assert two.parameters != one.parameters


def test_frequent_evaluation(tmp_path):
    job = train(tmp_path, "--twin", "frequent-evaluation").expect_healthy(2)
    assert re.findall(r"step (\d+): validation", job.out) == ["4", "8"]


@pytest.mark.parametrize("twin", ["gradient-checkpointing", "offloaded-parameters"])
def test_what_is_computed_stays_the_same_to_the_bit(tmp_path, twin):
    assert train(tmp_path / "twin", "--twin", twin).parameters == train(tmp_path / "plain").parameters


@pytest.mark.parametrize("twin", ["rebuilt-buckets", "unused-parameters", "sharded-gradients"])
def test_other_reductions_give_the_same_loss(tmp_path, twin):
    losses = train(tmp_path / "twin", "--twin", twin).training_losses
    assert losses == pytest.approx(train(tmp_path / "plain").training_losses, rel=0, abs=1e-5)


def test_alternating_updates_train_two_models(tmp_path):
    one, two = train(tmp_path / "one"), train(tmp_path / "two", "--twin", "alternating-updates")
    assert two.training_losses == one.training_losses, "the first model is the same"
    assert two.parameters != one.parameters


@pytest.mark.parametrize("ranks", [2, 4])
def test_pairs_train_the_model_that_one_rank_has(tmp_path, ranks):
    pairs = train(tmp_path / "pairs", "--twin", "tensor-parallel", ranks=ranks).expect_healthy(ranks)
    whole = train(tmp_path / "whole", ranks=ranks // 2)
    assert pairs.training_losses == pytest.approx(whole.training_losses, rel=0, abs=1e-5)
    assert pairs.validation_losses == pytest.approx(whole.validation_losses, rel=0, abs=1e-5)
    assert pairs.batches[1, 0] == pairs.batches[1, 1] == whole.batches[1, 0]
    parts = [(tmp_path / "pairs" / "checkpoints" / f"step_{8 * 2 // ranks:06}.part_{part}_of_2.bin") for part in (0, 1)]
    assert parts[0].read_bytes() != parts[1].read_bytes()
