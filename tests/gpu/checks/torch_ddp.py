"""PyTorch's DistributedDataParallel, recorded: on the CPU, on the GPU, beside torch.profiler, with the stand-in NCCL."""
import json
import pathlib
import sys

from check import Failed, Skipped, check, require
from machine import SHARED_GPU
from trainer import ranks

JOB = pathlib.Path(__file__).parent / "ddp_job.py"
STEPS = 12


def torch_of(machine, folder):
    """(version, whether it sees a GPU) of this interpreter's torch; version "": it has none. Asked once."""
    if machine.torch is None:
        try:
            code = "import torch; print(torch.__version__, torch.cuda.is_available())"
            done = machine.run([sys.executable, "-c", code], folder, label="torch", libraries_of="own")
            version, sees = done.stdout.split()
            machine.torch = (version, sees == "True")
        except Failed:
            machine.torch = ("", False)
    return machine.torch


def needs_torch(machine, folder, device):
    version, sees_gpu = torch_of(machine, folder)
    if not version:
        raise Skipped(f"{sys.executable} has no torch")
    if device == "cuda" and not sees_gpu:
        raise Skipped(f"torch {version} of {sys.executable} sees no GPU")
    return version


def words(device, count, *more, front=""):
    """front: a library for LD_PRELOAD, behind what is there."""
    script = [*ranks(count), sys.executable, JOB, device, STEPS, *more]
    if not front:
        return script
    return ["sh", "-c", f'LD_PRELOAD="$LD_PRELOAD:{front}" exec "$0" "$@"', *script]


def endings(done, count):
    told = sorted((line["rank"], line["loss"], line["checksum"]) for line in done.told())
    require(len(told) == count, f"{len(told)} of {count} ranks came to their end")
    require(len({checksum for _, _, checksum in told}) == 1, f"the ranks' parameters differ: {told}")
    return told


def reductions(trace):
    return [record for record in trace.calls("ncclAllReduce") if not record.inside]


@check("torch.cpu", 25)
def on_cpu(machine, folder):
    version = needs_torch(machine, folder, "cpu")
    plain = machine.run(words("cpu", 2), folder, timeout=120, label="plain", libraries_of="own")
    done, trace = machine.record(words("cpu", 2), folder, timeout=120, libraries_of="own")
    require(endings(done, 2) == endings(plain, 2), "recorded, it computes something else")
    require(trace.slugs() == set(), f"found {trace.slugs()}")
    return {"torch": version}


@check("torch.cuda", 40)
def on_gpu(machine, folder):
    version = needs_torch(machine, folder, "cuda")
    plain = endings(machine.run(words("cuda", 1), folder, timeout=120, label="plain", libraries_of="own"), 1)
    measured = {"torch": version}
    for tier in ("events", "cupti"):
        done, trace = machine.record(words("cuda", 1), folder, tier, timeout=120, label=tier, libraries_of="own")
        require(endings(done, 1) == plain, f"{tier}: recorded, it computes something else")
        require(trace.tiers() == [(tier, "-")], f"the tiers are {trace.tiers()}")
        require(len(reductions(trace)) >= STEPS, f"{tier}: {len(reductions(trace))} reductions in {STEPS} steps")
        require(trace.slugs() == set(), f"{tier}: found {trace.slugs()}")
        kind = "collective" if tier == "events" else "kernel"
        require(len(trace.kinds(kind)) >= STEPS, f"{tier}: {len(trace.kinds(kind))} entries of kind {kind}")
        measured[f"{tier}_entries"] = len(trace.work)
    return measured


def kernels_of(profile):
    events = json.loads(profile.read_text())["traceEvents"]
    return sum(event.get("cat") == "kernel" for event in events)


@check("torch.cuda.profiler", 30)
def beside_profiler(machine, folder):
    """torch.profiler's own trace is what it is alone; ours has what lies outside of it."""
    needs_torch(machine, folder, "cuda")
    alone, beside = folder / "alone.json", folder / "beside.json"
    machine.run(words("cuda", 1, alone), folder, timeout=120, label="alone", libraries_of="own")
    done, trace = machine.record(words("cuda", 1, beside), folder, "cupti", timeout=120, label="beside", libraries_of="own")
    counts = [kernels_of(pathlib.Path(f"{path}.0")) for path in (alone, beside)]
    require(counts[0] > 0, "the profiler alone sees no kernel")
    require(counts[1] == counts[0], f"the profiler sees {counts[1]} kernels and {counts[0]} alone")
    tiers = [tier for tier, _ in trace.tiers()]
    require(tiers[:2] == ["cupti", "events"], f"CUPTI was not lent: {trace.tiers()}")
    require(trace.kinds("kernel"), "no kernel from before the profile")
    return {"profiled_kernels": counts[1], "recorded_kernels": len(trace.kinds("kernel")), "tiers": tiers}


@check("torch.cuda.standin-nccl", 25)
def shared_by_ranks(machine, folder):
    """Two ranks of DDP on one GPU, whose collectives are the stand-in's."""
    needs_torch(machine, folder, "cuda")
    front = machine.build / "lib" / "standin" / "libnccl.so.2"
    done, trace = machine.record(words("cuda", 2, front=front), folder, timeout=150, libraries_of="staged", **SHARED_GPU)
    told = endings(done, 2)
    require(len(reductions(trace)) >= 2 * STEPS, f"{len(reductions(trace))} reductions of 2 ranks in {STEPS} steps")
    require(trace.slugs() == set(), f"found {trace.slugs()}")
    return {"loss": [loss for _, loss, _ in told]}
