"""Healthy runs: they learn, all ranks agree, the number of ranks does not matter, and they can be resumed."""

import os
import signal
import subprocess
import time

import pytest

from ports import free_port
from trainer_job import SMALL, TRAINER, environment, train


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_healthy(tmp_path, ranks):
    job = train(tmp_path, ranks=ranks).expect_healthy(ranks)
    assert len(job.training_losses) == len(job.validation_losses) == 2
    epoch = [job.batches[1, rank] for rank in range(ranks)]
    assert [samples for samples, _ in epoch] == [256 // ranks] * ranks
    assert len({digest for _, digest in epoch}) == ranks, "each rank trains on batches of its own"


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_same_global_batch_gives_the_same_loss(tmp_path, ranks):
    together = train(tmp_path / "together", "--batch", 32 // ranks, ranks=ranks)
    alone = train(tmp_path / "alone", "--batch", 32, ranks=1)
    assert together.training_losses == pytest.approx(alone.training_losses, rel=0, abs=1e-5)
    assert together.validation_losses == pytest.approx(alone.validation_losses, rel=0, abs=1e-5)


def test_the_same_flags_give_the_same_bits(tmp_path):
    first, second = (train(tmp_path / name) for name in ("first", "second"))
    assert first.parameters == second.parameters
    assert first.training_losses == second.training_losses
    other = train(tmp_path / "other", "--seed", 2)
    assert other.parameters != first.parameters


@pytest.mark.parametrize("stop", [4, 6], ids=["between epochs", "inside an epoch"])
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, stop):
    whole = train(tmp_path / "whole")
    train(tmp_path / "parts", "--steps", stop, "--checkpoint-every", stop)
    resumed = train(tmp_path / "parts", "--resume")
    assert resumed.parameters == whole.parameters
    assert resumed.validation_losses[-1] == whole.validation_losses[-1]
    assert f"step {stop}:" not in resumed.out, "goes on after the checkpoint"


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    train(tmp_path, "--steps", 2)
    job = train(tmp_path, "--resume", "--layers", "3")
    assert job.code == 1
    assert any("does not fit this model" in line for line in job.errors)


def test_checkpoints_are_whole_files_and_latest_names_the_newest(tmp_path):
    train(tmp_path, "--checkpoint-every", 2).expect_healthy(2)
    folder = tmp_path / "checkpoints"
    states = [f"step_{step:06}.bin" for step in (2, 4, 6, 8)]
    assert sorted(path.name for path in folder.iterdir()) == ["latest", *states]
    assert (folder / "latest").read_text() == "step_000008.bin\n"


def test_ranks_can_be_started_by_any_launcher(tmp_path):
    job = environment() | {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port())}
    processes = [
        subprocess.Popen(
            [TRAINER, "--workdir", tmp_path, *SMALL],
            env=job | {"RANK": rank, "LOCAL_RANK": rank},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in ("0", "1")
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    checksums = [line.split()[3] for out in outputs for line in out.splitlines() if ": parameters " in line]
    assert len(checksums) == 2 and len(set(checksums)) == 1


def test_the_launcher_hands_signals_on(tmp_path):
    command = [TRAINER, "--ranks", "2", "--workdir", tmp_path, "--epochs", "10000"]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    assert "epoch" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert not processes_in(tmp_path), "no rank or loader worker stays behind"


def processes_in(workdir):
    """Processes that were started with this folder; those that are ending get a moment."""
    for _ in range(100):
        pids = filter(str.isdigit, os.listdir("/proc"))
        found = [pid for pid in pids if str(workdir).encode() in command_of(pid)]
        if not found:
            return []
        time.sleep(0.1)
    return found


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def test_a_text_that_is_too_short_is_refused(tmp_path):
    (tmp_path / "text").write_text("too short")
    job = train(tmp_path / "work", "--data", tmp_path / "text")
    assert job.code == 1
    assert any("holds only 9 characters" in line for line in job.errors)
