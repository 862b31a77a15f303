"""How far the stated cost of redundant-accumulation-sync is from what the fixed program saves, at several links.

    sync_cost.py BUILD [PAIRS]    prints a line a draw. Fixed and faulty program take turns, so that what else runs on
    the machine meets both; a step is the median over all steps of all ranks and runs, the stated cost over the runs.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

RANKS = (2, 4)
LINKS = ("20us,10GB/s", "50us,1GB/s", "200us,100MB/s", "500us,50MB/s", "2ms,1GB/s", "5ms,20MB/s", "1ms,5MB/s")
ACCUMULATE = (2, 4)
BATCH, WIDTH, STEPS = 4, 64, 8


def run(build, folder, ranks, link, accumulate, *fault):
    job = [build / "bin/reference_trainer", "--ranks", ranks, "--epochs", 3, "--batch", BATCH, "--accumulate", accumulate,
           "--samples", ranks * BATCH * accumulate * STEPS, "--width", WIDTH, "--workers", 1, "--timeout", 20,
           "--workdir", folder / "work", *fault]
    command = [build / "bin/ddpscope", "run", "--cpu", "-o", folder / "trace", "--", *job]
    subprocess.run([str(word) for word in command], capture_output=True, check=True,
                   env={**os.environ, "STANDIN_LINK": link})


def steps(build, folder):
    """Milliseconds from one run of the optimizer to the next, all ranks."""
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
    return lengths


def stated(build, folder):
    done = subprocess.run([build / "bin/ddpscope", "report", folder / "trace", "--format", "json"], capture_output=True,
                          text=True)
    costs = [finding["cost"]["ms_per_step"] for finding in json.loads(done.stdout)["findings"]]
    assert len(costs) == 1, done.stdout
    return costs[0]


def measure(build, pairs, *draw):
    fixed, faulty, costs = [], [], []
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as folder:
            run(build, pathlib.Path(folder), *draw)
            fixed += steps(build, pathlib.Path(folder))
        with tempfile.TemporaryDirectory() as folder:
            run(build, pathlib.Path(folder), *draw, "--fault", "redundant-accumulation-sync/every-micro-batch")
            faulty += steps(build, pathlib.Path(folder))
            costs.append(stated(build, pathlib.Path(folder)))
    return statistics.median(fixed), statistics.median(faulty), statistics.median(costs)


def main(build, pairs):
    print("| ranks | link | micro-batches | fixed, ms a step | gap | stated | ratio |\n|---|---|---|---|---|---|---|")
    for link in LINKS:
        for ranks in RANKS:
            for accumulate in ACCUMULATE:
                fixed, faulty, cost = measure(build, pairs, ranks, link, accumulate)
                gap = faulty - fixed
                print(f"| {ranks} | {link} | {accumulate} | {fixed:.2f} | {gap:.2f} | {cost:.2f} | {cost / gap:.2f} |",
                      flush=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
