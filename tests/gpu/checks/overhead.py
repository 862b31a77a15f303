"""What recording costs a training step, by tier: paired runs in turn, and nanoseconds a call times calls a step.

A step has so many kernels, each of which takes as long as its share of 100 ms, and reduces its gradients in buckets on a
second stream meanwhile. With kernels that take no time the step is as long as its calls: this gives ns a call.
"""
import statistics

import nccl
import paired
from check import Skipped, check, require

BUDGET = {"none": 0.1, "events": 0.25, "profiler": 0.25, "cupti": 1.0}  # percent of a step of 100 ms
STEP_MS = 100
KERNELS, BUCKETS = 1000, 25
FLOATS = 1 << 20
CALLS = KERNELS + 4 * BUCKETS + 3  # launches; record, wait, reduce and its stream's part a bucket; the loss and its wait
KINDS = ("bare", *BUDGET)


class Shape:
    def __init__(self, machine, long_kernels):
        # On the CPU each kernel is a sleep of a thread: fewer and longer ones, or the sleeps are the measurement.
        self.kernels = 50 if machine.standins else KERNELS
        self.buckets = 5 if machine.standins else BUCKETS
        self.floats = 1 << 12 if machine.standins else FLOATS
        self.ns = int(STEP_MS * 1e6 / self.kernels) if long_kernels else 0
        self.steps = 12 if long_kernels else 100
        self.calls = self.kernels + 3 * self.buckets + 4

    def words(self):
        return ("train", 1, self.steps, self.kernels, self.ns, self.buckets, self.floats)


def step_ms(machine, folder, shape, kind, label):
    """The median step of one run, the first two left out."""
    command = machine.guest(*shape.words())
    if kind == "bare":
        done = machine.run(command, folder, label=label)
    else:
        done, trace = machine.record(command, folder, kind, label=label)
        require([tier for tier, _ in trace.tiers()] == [kind], f"the tiers are {trace.tiers()} and not {kind}")
    return statistics.median(done.values("step_ms")[2:])


def kinds_here(machine, folder):
    """An NCCL that tells no times leaves tier profiler to events, which would be measured twice."""
    version = machine.run(machine.guest("reduce", 1, 4096), folder, label="nccl").values("nccl")[0]
    return [kind for kind in KINDS if kind != "profiler" or nccl.profiler_times(version)]


def measure(machine, folder, shape, rounds):
    kinds = kinds_here(machine, folder)
    steps = {kind: [] for kind in kinds}
    for number, kind in enumerate(paired.orders(kinds, rounds)):
        steps[kind].append(step_ms(machine, folder, shape, kind, f"{number:03d}-{kind}"))
    return steps


def tiers_of(steps):
    return [kind for kind in steps if kind != "bare"]


def percent(ratio):
    return [round(100 * (value - 1), 3) for value in ratio]


@check("overhead.step-of-100-ms", 150)
def step_of_100_ms(machine, folder):
    shape = Shape(machine, True)
    steps = measure(machine, folder, shape, machine.rounds)
    measured = {"step_ms": round(statistics.median(steps["bare"]), 3), "rounds": machine.rounds, "shape": vars(shape)}
    for kind in tiers_of(steps):
        measured[kind] = percent(paired.ratios(steps["bare"], steps[kind]))
    # Only an interval that lies above the budget says that it is not kept: on a busy machine it is wide.
    over = [kind for kind, (_, low, _) in ((kind, measured[kind]) for kind in tiers_of(steps)) if low > BUDGET[kind]]
    if not machine.standins:
        require(not over, f"over the budget: {', '.join(f'{kind} {measured[kind]} % of {BUDGET[kind]} %' for kind in over)}")
    return measured


@check("overhead.ns-a-call", 75)
def ns_a_call(machine, folder):
    """Steps as long as their calls: the difference, by calls."""
    if machine.standins:
        raise Skipped("the stand-in's streams are threads, whose turns are longer than a call; tests/bench counts calls there")
    shape = Shape(machine, False)
    steps = measure(machine, folder, shape, machine.rounds)
    measured = {"step_ms": round(statistics.median(steps["bare"]), 3), "rounds": machine.rounds, "shape": vars(shape)}
    over = []
    for kind in tiers_of(steps):
        ns = [1e6 * value / shape.calls for value in paired.differences(steps["bare"], steps[kind])]
        share = [round(value * CALLS / (1e4 * STEP_MS), 4) for value in ns]  # percent of the step
        measured[kind] = {"ns_a_call": [round(value, 1) for value in ns], "percent_of_step": share}
        if share[1] > BUDGET[kind]:
            over.append(f"{kind}: {share} % of {BUDGET[kind]} %")
    require(not over, f"over the budget at {CALLS} calls a step: {'; '.join(over)}")
    return measured
