"""Runs the reference trainer on the CPU stand-ins and reads what it prints."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

BUILD = Path(os.environ["DDPSCOPE_BUILD"])
TRAINER = BUILD / "bin" / "reference_trainer"
STANDINS = [BUILD / "lib" / "standin" / name for name in ("libcudart.so.13", "libnccl.so.2")]
# A small job: 4 optimizer steps an epoch at 2 ranks, 8 at 1, 2 at 4.
SMALL = ("--samples", "256", "--epochs", "2", "--width", "64")
# However busy the machine is, a job is over by then.
PATIENCE_SECONDS = 120


@dataclass
class Job:
    code: int
    out: str
    err: str

    @property
    def training_losses(self):
        return [float(loss) for loss in re.findall(r"training loss (\S+)", self.out)]

    @property
    def validation_losses(self):
        return [float(loss) for loss in re.findall(r"validation loss (\S+)", self.out)]

    @property
    def parameters(self):
        """Final checksum of each rank."""
        return {int(rank): value for rank, value in re.findall(r"rank (\d+): parameters (\w+)", self.out)}

    @property
    def batches(self):
        """(samples, digest) of each (epoch, rank)."""
        lines = re.findall(r"rank (\d+) epoch (\d+): (\d+) samples, digest (\w+)", self.out)
        return {(int(epoch), int(rank)): (int(samples), digest) for rank, epoch, samples, digest in lines}

    @property
    def errors(self):
        return [line for line in self.err.splitlines() if line.startswith("error:")]

    def expect_healthy(self, ranks):
        assert self.code == 0, self.out + self.err
        assert not self.errors
        assert self.training_losses[-1] < self.training_losses[0]
        assert set(self.parameters) == set(range(ranks))
        assert len(set(self.parameters.values())) == 1
        return self


def environment():
    """Ours, without what a launcher of the tests may have set, and with the stand-ins in front."""
    launcher = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    kept = {name: value for name, value in os.environ.items() if name not in launcher}
    return kept | {"LD_PRELOAD": ":".join(map(str, STANDINS))}


def train(workdir, *flags, ranks=2):
    command = [TRAINER, "--ranks", ranks, "--workdir", workdir, *SMALL, *flags]
    done = subprocess.run(
        [str(word) for word in command],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    return Job(done.returncode, done.stdout, done.stderr)
