"""Each fault shows its symptom at 2 ranks, and the run ends by itself."""

import re

import pytest

from trainer_job import train

QUICK = ("--timeout", "3")


def stuck_places(job):
    """{rank: place} of the ranks that gave up."""
    return {int(rank): place for rank, place in re.findall(r"error: rank (\d+) is stuck at (.*?): ", job.err)}


@pytest.mark.parametrize("faulty", [0, 1])
def test_skipped_barrier_after_preparation(tmp_path, faulty):
    job = train(tmp_path, "--fault", "skipped-barrier", "--fault-rank", faulty, *QUICK)
    assert job.code == 1
    places = stuck_places(job)
    assert places[1 - faulty] == "the barrier after data preparation"
    assert places.get(faulty, "the broadcast of parameters") == "the broadcast of parameters"


def test_skipped_barrier_after_a_save(tmp_path):
    job = train(tmp_path, "--fault", "skipped-barrier/checkpoint", "--fault-at", 1, *QUICK)
    assert job.code == 1
    assert stuck_places(job)[0] == "the barrier after save 1"


def test_extra_barrier_after_a_save(tmp_path):
    job = train(tmp_path, "--fault", "skipped-barrier/extra", "--fault-at", 1, *QUICK)
    assert job.code == 1
    assert stuck_places(job)[1] == "the barrier after save 1"
    # An epoch starts with a small broadcast: its root waits for nobody, and is stuck at what comes next.
    assert stuck_places(job).get(0, "the start of epoch 2") in ("the start of epoch 2", "the loss of step 5")


def test_all_ranks_write_one_checkpoint(tmp_path):
    job = train(tmp_path, "--fault", "duplicate-checkpoint-write/all").expect_healthy(2)
    assert sorted(re.findall(r"rank (\d) saves (\S+)", job.out)) == [
        (str(rank), f"step_{step:06}.bin") for rank in (0, 1) for step in (4, 8)
    ]


def test_all_ranks_write_the_same_under_other_names(tmp_path):
    train(tmp_path, "--fault", "duplicate-checkpoint-write/timestamped").expect_healthy(2)
    copies = [path.read_bytes() for path in (tmp_path / "checkpoints").glob("step_000004-*.bin")]
    assert len(copies) == 2
    assert copies[0] == copies[1]


def test_all_ranks_write_the_same_under_names_of_shards(tmp_path):
    train(tmp_path, "--fault", "duplicate-checkpoint-write/sharded-names").expect_healthy(2)
    copies = [(tmp_path / "checkpoints" / f"step_000004.rank_{rank}.bin").read_bytes() for rank in (0, 1)]
    assert copies[0] == copies[1]


@pytest.mark.parametrize("variant", ["no-sampler", "ignored-index", "in-memory"])
def test_ranks_train_on_the_same_batches(tmp_path, variant):
    job = train(tmp_path, "--fault", f"unsharded-sampler/{variant}").expect_healthy(2)
    assert all(job.batches[epoch, 0] == job.batches[epoch, 1] for epoch in (1, 2))


def test_each_rank_trains_on_everything(tmp_path):
    job = train(tmp_path, "--fault", "unsharded-sampler/shuffle-each").expect_healthy(2)
    (samples_0, digest_0), (samples_1, digest_1) = job.batches[1, 0], job.batches[1, 1]
    assert samples_0 == samples_1 == 256
    assert digest_0 != digest_1


@pytest.mark.parametrize("fault", ["straggler/slow-input", "straggler/slow-files", "straggler/slow-compute",
                                   "exposed-communication/after-backward"])
def test_what_only_costs_time_changes_no_parameter(tmp_path, fault):
    faulty = train(tmp_path / "faulty", "--fault", fault, "--fault-delay", 0.1).expect_healthy(2)
    assert faulty.parameters == train(tmp_path / "healthy").parameters
    assert (tmp_path / "faulty/logs/gradients.1").exists() == (fault == "straggler/slow-files")


@pytest.mark.parametrize("variant", ["every-micro-batch", "no-sync-around-backward"])
def test_redundant_reductions_change_nothing_but_the_cost(tmp_path, variant):
    faulty = train(tmp_path / "faulty", "--fault", f"redundant-accumulation-sync/{variant}").expect_healthy(2)
    healthy = train(tmp_path / "healthy")
    assert faulty.training_losses == pytest.approx(healthy.training_losses, rel=0, abs=1e-5)
    assert faulty.parameters != healthy.parameters, "rounding tells that it was reduced elsewhere"


@pytest.mark.parametrize("variant", ["bypassed-ddp", "first-micro-batch"])
def test_ranks_drift_apart_without_reductions(tmp_path, variant):
    job = train(tmp_path, "--fault", f"missing-gradient-sync/{variant}", "--accumulate", 2, *QUICK)
    assert job.code == 1
    assert sorted(job.errors) == [f"error: rank {rank}: the ranks' parameters differ" for rank in (0, 1)]


def test_one_device_for_all_is_refused(tmp_path):
    job = train(tmp_path, "--fault", "shared-device/same-device", *QUICK)
    assert job.code == 1 and job.err.count("invalid usage") == 2
    assert sorted(error.split(":")[1] for error in job.errors) == [" rank 0", " rank 1"]


def test_weights_on_device_0_change_nothing(tmp_path):
    train(tmp_path, "--fault", "shared-device/foreign-memory").expect_healthy(2)


@pytest.mark.parametrize("variant", ["count", "dtype", "redop", "operation"])
@pytest.mark.parametrize("faulty", [0, 1])
def test_mismatched_reduction(tmp_path, variant, faulty):
    fault = ("--fault", f"mismatched-collective/{variant}", "--fault-rank", faulty, "--fault-at", 3)
    job = train(tmp_path, *fault, *QUICK)
    assert job.code == 1
    assert set(stuck_places(job).values()) == {"the loss of step 3"}


@pytest.mark.parametrize("faulty", [0, 1])
def test_mismatched_root(tmp_path, faulty):
    fault = ("--fault", "mismatched-collective/root", "--fault-rank", faulty, "--fault-at", 2)
    job = train(tmp_path, *fault, *QUICK)
    assert job.code == 1
    # Where each rank takes itself for the root, one is that of the others' communicator too: it does not wait for who receives.
    passed = ["the loss of step 5"] if faulty == 1 else ["the start of epoch 2"]
    assert sorted(stuck_places(job).values()) == [*passed, "the start of epoch 2"]


def test_a_rank_exits(tmp_path):
    job = train(tmp_path, "--fault", "hung-collective/exit", "--fault-at", 3, *QUICK)
    assert job.code == 1
    assert "error: rank 1: cannot go on before step 3" in job.errors
    assert stuck_places(job) == {0: "the loss of step 3"}


def test_a_rank_is_killed(tmp_path):
    job = train(tmp_path, "--fault", "hung-collective/killed", "--fault-at", 3, *QUICK)
    assert job.code == 128 + 9
    assert stuck_places(job) == {0: "the loss of step 3"}


def test_a_rank_never_gets_its_batch(tmp_path):
    job = train(tmp_path, "--fault", "hung-collective/stuck", "--fault-at", 3, *QUICK)
    assert job.code == 1
    assert stuck_places(job)[1] == "the loader, for step 3"


def test_the_timeout_is_the_one_asked_for(tmp_path):
    job = train(tmp_path, "--fault", "hung-collective/stuck", "--fault-at", 1, "--timeout", "1")
    assert job.code == 1
    waited = [float(seconds) for seconds in re.findall(r"no progress for (\S+) s", job.err)]
    assert min(waited) >= 1.0
