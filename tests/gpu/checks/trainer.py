"""The reference trainer on the GPU: healthy runs and its headline faults."""
import re
import socket

from check import Failed, Skipped, check, require
from machine import SHARED_GPU

HEADLINE = ("skipped-barrier", "duplicate-checkpoint-write", "unsharded-sampler", "redundant-accumulation-sync")
SIZE = ["--epochs", 2, "--samples", 256, "--batch", 8, "--accumulate", 2, "--width", 64, "--timeout", 10]


def train(machine, folder, ranks, *extra, label="healthy", libraries_of="staged", codes=(0,), launcher=()):
    command = [*launcher, machine.program("reference_trainer"), *([] if launcher else ["--ranks", ranks]), *SIZE,
               "--workdir", folder / f"{label}.job", *extra]
    environment = SHARED_GPU if ranks > 1 else {}
    return machine.record(command, folder, label=label, libraries_of=libraries_of, codes=codes, timeout=150, **environment)


def healthy(machine, folder, ranks, label, **settings):
    done, trace = train(machine, folder, ranks, label=label, **settings)
    endings = re.findall(r"^rank \d+: parameters (\w+)", done.stdout, re.MULTILINE)
    require(len(endings) == ranks and len(set(endings)) == 1, f"the ranks' parameters are {endings}")
    require(trace.slugs() == set(), f"found {trace.slugs()}")
    timed = len(trace.kinds("collective"))
    require(timed, "no collective is timed")
    return {"losses": re.findall(r"training loss ([\d.]+)", done.stdout), "timed": timed}


@check("trainer.healthy.standin-nccl", 30)
def healthy_staged(machine, folder):
    """At 2 and 4 ranks on one GPU, collectives of the stand-in."""
    two, four = (healthy(machine, folder, ranks, f"healthy-{ranks}") for ranks in (2, 4))
    return {"two": two, "four": four}


@check("trainer.healthy.one-rank", 12)
def healthy_alone(machine, folder):
    return healthy(machine, folder, 1, "healthy-1", libraries_of="cuda")


@check("trainer.healthy.two-ranks", 25)
def healthy_shared(machine, folder):
    """Real NCCL, each rank a host of its own to it."""
    try:
        return healthy(machine, folder, 2, "healthy-nccl", libraries_of="cuda", launcher=ranks(2))
    except Failed as reason:
        if "Duplicate GPU" in str(reason) or "invalid usage" in str(reason):
            raise Skipped(f"this NCCL does not let ranks share a GPU: {reason}")
        raise


def ranks(count):
    """Starts ranks that NCCL takes for hosts of their own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    each = ('RANK=$r LOCAL_RANK=$r NCCL_HOSTID=rank$r "$0" "$@" & pids="$pids $!"')
    script = (f"export WORLD_SIZE={count} LOCAL_WORLD_SIZE={count} MASTER_ADDR=127.0.0.1 MASTER_PORT={port}; worst=0; "
              f"for r in {' '.join(map(str, range(count)))}; do {each}; done; for p in $pids; do wait $p || worst=$?; done; exit $worst")
    return ["sh", "-c", script]


def fault(machine, folder, slug):
    for count in (2, 4):
        _, trace = train(machine, folder, count, "--fault", slug, label=f"{slug}-{count}", codes=(0, 1))
        require(trace.slugs() == {slug}, f"{count} ranks: found {sorted(trace.slugs())} and not {slug}")


def register(slug):
    @check(f"trainer.fault.{slug}", 25)
    def run(machine, folder):
        return fault(machine, folder, slug)


for one in HEADLINE:
    register(one)


@check("trainer.fault.shared-device", 12)
def shared_device(machine, folder):
    """Two ranks on one GPU that nobody asked for: NCCL refuses them."""
    command = [machine.program("reference_trainer"), "--ranks", 2, *SIZE, "--workdir", folder / "job"]
    done, trace = machine.record(command, folder, codes=(1,), timeout=90)
    require(trace.slugs() == {"shared-device"}, f"found {sorted(trace.slugs())}; the job said {done.stderr[-200:]}")
