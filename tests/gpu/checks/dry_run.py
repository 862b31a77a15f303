"""`ddpscope run --cpu` issues what the GPU run issues: the same calls on every communicator, in the same order."""
import dataclasses
import difflib
import pathlib
import sys

from check import Failed, Skipped, check, require
from machine import ROOT, SHARED_GPU
from trainer import ranks

SCRIPTS = ROOT / "tests" / "torch_cuda" / "jobs"
CALLS = {"ncclAllReduce", "ncclBroadcast", "ncclBcast", "ncclReduce", "ncclAllGather", "ncclReduceScatter", "ncclAlltoAll",
         "ncclGather", "ncclScatter", "ncclSend", "ncclRecv"}
MOST_LINES = 8  # of a difference


@dataclasses.dataclass
class Job:
    script: str
    arguments: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)

    def words(self, count, out, front=""):
        script = [sys.executable, SCRIPTS / self.script, *(out if word == "OUT" else word for word in self.arguments)]
        # All ranks use the first GPU.
        script = ["env", "LOCAL_RANK=0", *(["sh", "-c", f'LD_PRELOAD="$LD_PRELOAD:{front}" exec "$0" "$@"'] if front else []), *script]
        return [*ranks(count), *script]


JOBS = {
    "conv-net": Job("image_classifier.py", ("OUT", "--epochs", 1, "--images", 24)),
    "buckets": Job("accumulated.py", ("--micro-batches", 2, "--steps", 3, "--bucket-mb", 0.02, "--norm")),
    "buckets-legacy": Job("accumulated.py", ("--micro-batches", 2, "--steps", 3, "--bucket-mb", 0.02), {"TORCH_DIST_USE_NCCL2": "0"}),
    "fsdp2": Job("fsdp2_trainer.py", ("OUT", "--steps", 3, "--micro-batches", 2)),
}


def schedule(trace):
    """rank -> its communicators as they were made -> lines, one a call."""
    communicators = {}
    for record in trace.records:
        if record.call in CALLS and not record.inside:
            communicators.setdefault((record.rank, record.pid), {}).setdefault(record["communicator"], []).append(record)
    return {rank: [[line(record) for record in sorted(calls, key=lambda record: record["sequence"])]
                   for _, calls in sorted(of_rank.items())] for (rank, _), of_rank in communicators.items()}


def line(record):
    return " ".join([record.call, *(f"{field}={record[field]}" for field in ("count", "datatype", "reduction", "peer"))])


def compare(gpu, dry):
    """Fails with the first lines that differ."""
    require(gpu.keys() == dry.keys(), f"ranks {sorted(gpu)} on the GPU, {sorted(dry)} in the dry run")
    require(gpu, "no collective was recorded")
    for rank, communicators in gpu.items():
        require(len(communicators) == len(dry[rank]),
                f"rank {rank}: {len(communicators)} communicators on the GPU, {len(dry[rank])} in the dry run")
        for number, (calls, planned) in enumerate(zip(communicators, dry[rank])):
            differences = [text for text in difflib.ndiff(calls, planned) if text[0] in "-+"]
            if differences:
                raise Failed(f"rank {rank}, communicator {number}: GPU (-) and dry run (+) differ: {'; '.join(differences[:MOST_LINES])}")


def torch_with_cuda(machine, folder):
    code = "import torch; print(torch.__version__, torch.version.cuda)"
    try:
        version, cuda = machine.run([sys.executable, "-c", code], folder, label="torch", libraries_of="own").stdout.split()
    except Failed:
        raise Skipped(f"{sys.executable} has no torch")
    if cuda == "None":
        raise Skipped(f"torch {version} of {sys.executable} was built without CUDA")
    return version


def both_ways(machine, folder, name, count):
    """The calls of one rank in one schedule: how many."""
    job = JOBS[name]
    label = f"{name}-{count}"
    # One rank alone uses NVIDIA's NCCL; several cannot share a GPU with it everywhere.
    front = machine.build / "lib" / "standin" / "libnccl.so.2" if count > 1 else ""
    shared = {"libraries_of": "own", "STANDIN_NCCL_STAGING": "1", **SHARED_GPU} if count > 1 else {"libraries_of": "own"}
    settings = {**shared, "timeout": 200, **job.environment}
    _, on_gpu = machine.record(job.words(count, folder / f"{label}.gpu", front), folder, label=f"{label}.gpu", **settings)
    _, dry = machine.record(job.words(count, folder / f"{label}.dry"), folder, label=f"{label}.dry", dry=True,
                            **{**settings, "STANDIN_NCCL_STAGING": "0"})
    first, second = schedule(on_gpu), schedule(dry)
    compare(first, second)
    return sum(map(len, first[0]))


@check("torch.dry-run.one-rank", 120)
def one_rank(machine, folder):
    version = torch_with_cuda(machine, folder)
    return {"torch": version, **{name: both_ways(machine, folder, name, 1) for name in JOBS}}


@check("torch.dry-run.two-ranks", 120)
def two_ranks(machine, folder):
    version = torch_with_cuda(machine, folder)
    return {"torch": version, **{name: both_ways(machine, folder, name, 2) for name in JOBS}}
