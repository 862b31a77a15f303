"""How far the stated cost of redundant-accumulation-sync is from what the fixed program saves.

    sync_cost.py BUILD [PAIRS]    prints a line a draw. Links and kernels take modelled times. Fixed and
    faulty program take turns, so that what else runs on the machine meets both; a step is the median over the steps of
    all ranks. Gap, of a pair: the faulty program's step less the fixed one's; stated: the report's cost of the faulty
    run; both are medians of the pairs. Noise: half the distance between the quartiles of the pairs' gaps, as a part of
    the gap.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

RANKS = (2, 4, 8)
# Link, and nanoseconds of a kernel: long, for a busy machine adds half a millisecond to each sleep. A micro-batch is 20
# kernels, the last 12 of which are its backward pass; what it reduces meanwhile, from its third kernel on, is 91 KB in 4
# calls, which take less time than that, more, and much more.
LOADS = (("20ms,10MB/s", 10_000_000), ("50ms,1GB/s", 10_000_000), ("50ms,1MB/s", 10_000_000))
ACCUMULATE = (2, 4)
BATCH, WIDTH, BUCKET, STEPS = 2, 64, 16384, 4
WANTED = 0.15


def run(build, folder, ranks, load, accumulate, *fault):
    job = [build / "bin/reference_trainer", "--ranks", ranks, "--epochs", 2, "--batch", BATCH, "--accumulate", accumulate,
           "--samples", ranks * BATCH * accumulate * STEPS, "--width", WIDTH, "--bucket-bytes", BUCKET,
           "--workers", 1, "--timeout", 60, "--workdir", folder / "work", *fault]
    command = [build / "bin/ddpscope", "run", "--cpu", "-o", folder / "trace", "--", *job]
    subprocess.run([str(word) for word in command], capture_output=True, check=True,
                   env={**os.environ, "STANDIN_LINK": load[0], "STANDIN_KERNEL_NS": str(load[1])})


def step_ms(build, folder):
    """From one run of the optimizer to the next."""
    dump = subprocess.run([build / "bin/ddpscope", "dump", folder / "trace"], capture_output=True, text=True, check=True)
    before, lengths = {}, []
    for line in dump.stdout.splitlines():
        launch = re.match(r"([0-9.]+) .* rank (\d+) .*LaunchKernel .*name=\"adamw\"", line)
        if not launch:
            continue
        at_ms, rank = 1e3 * float(launch[1]), launch[2]
        if rank in before:
            lengths.append(at_ms - before[rank])
        before[rank] = at_ms
    return statistics.median(lengths)


def stated_ms(build, folder):
    done = subprocess.run([build / "bin/ddpscope", "report", folder / "trace", "--format", "json"], capture_output=True,
                          text=True)
    costs = [finding["cost"]["ms_per_step"] for finding in json.loads(done.stdout)["findings"]]
    assert len(costs) == 1, done.stdout
    return costs[0]


def measure(build, pairs, *draw):
    """Of each pair: the fixed program's step, the gap, the stated cost."""
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            run(build, folder / "fixed", *draw)
            run(build, folder / "faulty", *draw, "--fault", "redundant-accumulation-sync/every-micro-batch")
            fixed = step_ms(build, folder / "fixed")
            yield fixed, step_ms(build, folder / "faulty") - fixed, stated_ms(build, folder / "faulty")


def main(build, pairs=3):
    print("| ranks | link | kernel | micro-batches | fixed, ms a step | gap | noise | stated | ratio | |\n"
          "|---|---|---|---|---|---|---|---|---|---|")
    held = told = 0
    for draw in ((n, load, k) for load in LOADS for n in RANKS for k in ACCUMULATE):
        fixed, gaps, costs = zip(*measure(build, pairs, *draw))
        gap, cost = statistics.median(gaps), statistics.median(costs)
        low, _, high = statistics.quantiles(gaps, n=4, method="inclusive")
        noise, off = (high - low) / 2 / abs(gap), abs(cost / gap - 1)
        verdict = "held" if off <= WANTED else "within the noise" if off <= noise else "missed"
        held, told = held + (verdict == "held"), told + 1
        count, (link, kernel), accumulate = draw
        print(f"| {count} | {link} | {kernel // 1000} us | {accumulate} | {statistics.median(fixed):.2f} | {gap:.2f} | "
              f"{100 * noise:.0f} % | {cost:.2f} | {cost / gap:.2f} | {verdict} |", flush=True)
    print(f"\n{held} of {told} within {100 * WANTED:.0f} %")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:3]))
