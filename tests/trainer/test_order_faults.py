"""Faults of order at 2 ranks, when what nothing orders comes late; and their twins' ways."""

import re

import pytest

from trainer_job import train

QUICK = ("--timeout", "3")
LATE = ("--fault-delay", "1")


@pytest.mark.parametrize(
    "fault",
    [
        "missing-barrier/preparation",
        "missing-barrier/checkpoint",
        "ineffective-barrier/wrong-device",
        "ineffective-barrier/never-waited",
        "checkpoint-race/rotation",
        "checkpoint-race/rename",
    ],
)
def test_it_goes_well_by_luck(tmp_path, fault):
    train(tmp_path, "--fault", fault, *LATE).expect_healthy(2)


@pytest.mark.parametrize(
    "fault", ["missing-barrier/preparation", "missing-barrier/checkpoint", "checkpoint-race/rotation"]
)
def test_it_ends_by_itself_without_luck(tmp_path, fault):
    job = train(tmp_path, "--fault", fault, "--fault-delay", 0, *QUICK)
    assert job.code in (0, 1)
    assert bool(job.errors) == (job.code == 1)


def test_nobody_waits_for_who_prepares(tmp_path):
    """The others are there before rank 0 has turned a long text into tokens, and find nothing."""
    text = tmp_path / "text"
    text.write_text("all work and no play makes jack a dull boy\n" * 1_000_000)
    job = train(tmp_path / "work", "--data", text, "--fault", "missing-barrier", "--fault-delay", 0, *QUICK)
    assert job.code == 1
    assert any(line.startswith("error: rank 1: ") and "manifest.txt" in line for line in job.errors), job.err


def test_who_sees_the_data_runs_no_barrier(tmp_path):
    job = train(tmp_path, "--fault", "divergent-existence-check", *LATE, *QUICK)
    assert job.code == 1
    stuck = dict(re.findall(r"error: rank (\d+) is stuck at (.*?): ", job.err))
    assert stuck["0"] == "the barrier after data preparation"
    assert stuck.get("1", "the broadcast of parameters") == "the broadcast of parameters"


@pytest.mark.parametrize("variant, savers", [("never", ["0"]), ("world-of-one", ["0", "0"])])
def test_each_process_trains_alone(tmp_path, variant, savers):
    job = train(tmp_path, "--fault", f"no-process-group/{variant}", *LATE)
    assert job.code == 0, job.err
    assert re.findall(r"rank (\d+) saves step_000008.bin", job.out) == savers
    samples = re.findall(r"epoch 1: (\d+) samples", job.out)
    assert samples == ["256", "256"], "nothing is dealt out"
    # `never`: each starts from its own initial values, and nobody hands them over.
    assert len(job.parameters) == len(savers[:1]) + (variant == "never")
    assert len(set(job.parameters.values())) == len(job.parameters)


def test_only_the_newest_checkpoint_is_kept(tmp_path):
    for row in (("--fault", "checkpoint-race/rotation", *LATE), ("--twin", "rotation-between-barriers")):
        work = tmp_path / row[1].replace("/", "-")
        train(work, *row).expect_healthy(2)
        assert sorted(path.name for path in (work / "checkpoints").iterdir()) == ["latest", "step_000008.bin"]


def test_one_rank_renames_the_folder(tmp_path):
    job = train(tmp_path / "all", "--fault", "checkpoint-race/rename").expect_healthy(2)
    assert sorted(re.findall(r"rank \d cannot rename \S+/tmp-(step_\d+)", job.out)) == ["step_000004", "step_000008"]
    assert "cannot rename" not in train(tmp_path / "one", "--twin", "renamed-folder").expect_healthy(2).out
    for work in ("all", "one"):
        names = sorted(path.name for path in (tmp_path / work / "checkpoints").iterdir())
        assert names == ["latest", "step_000004", "step_000008"]


@pytest.mark.parametrize("twin", ["renamed-folder", "read-back", "log-folder"])
def test_a_run_resumes_from_what_the_twin_saved(tmp_path, twin):
    whole = train(tmp_path / "whole")
    train(tmp_path / "parts", "--twin", twin, "--steps", 4)
    assert train(tmp_path / "parts", "--twin", twin, "--resume").parameters == whole.parameters


@pytest.mark.parametrize("twin", ["poll-marker", "rename-published", "lock-file"])
def test_data_that_is_there_is_not_written_again(tmp_path, twin):
    train(tmp_path, "--twin", twin).expect_healthy(2)
    manifest = tmp_path / "data" / "manifest.txt"
    written = manifest.stat().st_mtime_ns
    train(tmp_path, "--twin", twin).expect_healthy(2)
    assert manifest.stat().st_mtime_ns == written


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_rows_and_columns_average_over_all_ranks(tmp_path, ranks):
    job = train(tmp_path / "rows", "--twin", "subgroups-only", ranks=ranks).expect_healthy(ranks)
    whole = train(tmp_path / "whole", ranks=ranks)
    assert job.training_losses == pytest.approx(whole.training_losses, rel=0, abs=1e-5)
