"""Collectives: NCCL as the machine has it with one rank, with ranks that share the GPU, and the stand-in's on the GPU."""
import re

from check import Failed, Skipped, check, require
from machine import SHARED_GPU

SIZES = (4096, 1 << 20, 16 << 20)
EACH = 5  # collectives of a size


def profiler_times(version):
    """Whether NCCL of this version tells its profiler plugin when kernels run, and is asked to (docs/gpu-times.md)."""
    return 22600 <= version < 23100


def reduce(machine, folder, ranks, tier, libraries_of="cuda", label=""):
    """Recorded; checks what holds of each collective: (what it printed, its trace)."""
    environment = SHARED_GPU if ranks > 1 else {}
    done, trace = machine.record(machine.guest("reduce", ranks, *SIZES), folder, tier, label=label or f"{tier}-{ranks}",
                                 libraries_of=libraries_of, timeout=120, **environment)
    if tier == "profiler" and not profiler_times(done.values("nccl")[0]):
        require(trace.tiers() and all(got == "events" and why != "-" for got, why in trace.tiers()),
                f"of an NCCL that tells no times the tiers are {trace.tiers()}")
    else:
        require(trace.tiers() == ranks * [(tier, "-")], f"the tiers are {trace.tiers()}")
    calls = trace.calls("ncclAllReduce")
    require(len(calls) == ranks * EACH * len(SIZES), f"{len(calls)} calls are recorded")
    require(trace.slugs() == set(), f"found {trace.slugs()}")
    return done, trace


def timed(trace, ranks):
    """[(bytes, device work)] of collectives timed by events or by NCCL's profiler interface."""
    calls = {(record["communicator"], record["sequence"], record.rank): record for record in trace.calls("ncclAllReduce")}
    found = []
    error = 1e-9 * max(trace.clock_errors_ns())
    for work in trace.kinds("collective"):
        call = calls[work["communicator"], work["sequence"], work.rank]
        require(work.end >= work.begin >= call.begin - error, f"{work} is not behind its call at {call.begin}")
        found.append((4 * call["count"], work))
    require(len(found) == ranks * EACH * len(SIZES), f"{len(found)} collectives are timed")
    return found


def plausible(machine, done, found, ranks, slack=2e-6):
    """The program's own events lie around ours; the bus is not faster than the device's memory.

    slack: seconds, for the resolution of the clocks.
    """
    own = {(line["rank"], line["bytes"]): 1e-3 * line["least_ms"] for line in done.told() if "least_ms" in line}
    best = {}
    for size, work in found:
        best[work.rank or 0, size] = min(work.took, best.get((work.rank or 0, size), 1e9))
    for key, seconds in best.items():
        require(seconds <= own[key] + slack, f"{key}: {seconds} s within {own[key]} s")
    bandwidth = {}
    for (rank, size), seconds in best.items():
        gb_per_s = 2e-9 * (ranks - 1) / ranks * size / max(seconds, 1e-9)
        require(gb_per_s <= machine.device["memory_gb_per_s"], f"{gb_per_s:.0f} GB/s are more than the device's memory has")
        bandwidth[size] = max(gb_per_s, bandwidth.get(size, 0))
    return {f"bus_gb_per_s_{size}": round(value, 3) for size, value in bandwidth.items()} if ranks > 1 else {}


def version_of(done):
    version = done.values("nccl")[0]
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"


def by_events(machine, folder, ranks, libraries_of="cuda"):
    done, trace = reduce(machine, folder, ranks, "events", libraries_of)
    measured = plausible(machine, done, timed(trace, ranks), ranks)
    return {"nccl": version_of(done), **measured}


def by_profiler(machine, folder, ranks):
    """NCCL takes ddpscope for its profiler plugin and tells how it runs collectives and, if its version does, when."""
    done, trace = reduce(machine, folder, ranks, "profiler")
    measured = {"nccl": version_of(done)}
    choices = {(record["algorithm"], record["protocol"]) for record in trace.calls("collective_choice")}
    if ranks > 1:  # one rank alone runs no kernel of NCCL's
        require(choices, "NCCL has not told how it runs collectives: it has not taken the plugin")
        measured["choices"] = len(choices)
    times = profiler_times(done.values("nccl")[0])
    measured["times"] = "profiler" if times else "events"
    if ranks == 1 and times and not trace.kinds("collective"):
        return {**measured, "times": "none: one rank alone runs no kernel of NCCL's"}
    found = timed(trace, ranks)
    measured["clock_error_us"] = round(1e-3 * max(trace.clock_errors_ns()), 1)
    slack = 4e-6 if times else 2e-6  # the device's timer may tick only each microsecond, at either end
    return {**measured, **plausible(machine, done, found, ranks, slack)}


def by_cupti(machine, folder, ranks):
    """Each collective is a kernel (or, with one rank, a copy) that its call is linked to."""
    _, trace = reduce(machine, folder, ranks, "cupti")
    linked = [work for work in trace.work if work.get("call") == "ncclAllReduce"]
    expected = ranks * EACH * len(SIZES)
    require(len(linked) >= expected, f"{len(linked)} entries are linked to {expected} collectives")
    require(all(work.end >= work.begin for work in linked), "an end before its begin")
    if ranks > 1:
        kernels = [work for work in linked if re.search("ncclDevKernel", str(work.get("name")))]
        require(len(kernels) == expected, f"{len(kernels)} kernels of NCCL for {expected} collectives")
    return {"linked": len(linked)}


@check("nccl.one-rank.events", 8)
def one_rank_events(machine, folder):
    return by_events(machine, folder, 1)


@check("nccl.one-rank.profiler", 8)
def one_rank_profiler(machine, folder):
    return by_profiler(machine, folder, 1)


@check("nccl.one-rank.cupti", 8)
def one_rank_cupti(machine, folder):
    return by_cupti(machine, folder, 1)


def shared(run):
    """Some versions of NCCL refuse two ranks on one GPU whatever is asked for: that is no failure of ours."""
    try:
        return run()
    except Failed as reason:
        if "Duplicate GPU" in str(reason) or "invalid usage" in str(reason):
            raise Skipped(f"this NCCL does not let ranks share a GPU: {reason}")
        raise


@check("nccl.two-ranks-one-gpu.events", 15)
def two_ranks_events(machine, folder):
    return shared(lambda: by_events(machine, folder, 2))


@check("nccl.two-ranks-one-gpu.profiler", 15)
def two_ranks_profiler(machine, folder):
    return shared(lambda: by_profiler(machine, folder, 2))


@check("nccl.two-ranks-one-gpu.cupti", 15)
def two_ranks_cupti(machine, folder):
    return shared(lambda: by_cupti(machine, folder, 2))


@check("nccl.standin-on-gpu", 15)
def standin_on_gpu(machine, folder):
    """The stand-in's collectives, staged through the host: right sums at 2 and 4 ranks, timed by events."""
    measured = by_events(machine, folder, 2, "staged")
    by_events(machine, folder, 4, "staged")
    return measured


@check("graphs.replay", 20)
def replay(machine, folder):
    """A captured step with a collective: the capture holds, its call is recorded once, its launches are counted."""
    replays = 50
    machine.run(machine.guest("replay", 1, replays), folder, label="plain")
    measured = {}
    for tier in ("none", "events", "profiler", "cupti"):
        _, trace = machine.record(machine.guest("replay", 1, replays), folder, tier, label=tier)
        collectives = len(trace.calls("ncclAllReduce"))
        require(collectives == 2, f"{tier}: {collectives} collectives are recorded and not one before and one under capture")
        for name in ("cudaStreamBeginCapture", "cudaStreamEndCapture"):
            require(len(trace.calls(name)) == 1, f"{tier}: {len(trace.calls(name))} {name}")
        launches = sum(record.get("repeats", 1) for record in trace.calls("cudaGraphLaunch"))
        require(launches == replays, f"{tier}: {launches} of {replays} launches of the graph are counted")
        if tier == "events":
            timings = len(trace.kinds("collective"))
            require(timings == 1, f"{timings} collectives are timed and not the one outside the capture")
        if tier in ("events", "profiler"):
            require(trace.health("device_work_untimed") == 1, f"{tier}: the one under capture is not counted as untimed")
        if tier == "cupti":
            adds = [work for work in trace.kinds("kernel") if work.get("name") == "add"]
            require(len(adds) == 2 * replays, f"{len(adds)} of {2 * replays} kernels of the graph are recorded")
            measured["linked_to_launches"] = sum(work.get("call") == "cudaGraphLaunch" for work in adds)
        require(trace.slugs() == set(), f"{tier}: found {trace.slugs()}")
    return measured
