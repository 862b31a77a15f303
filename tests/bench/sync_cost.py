"""How far the stated cost of redundant-accumulation-sync is from what the fixed program saves, at several links.

    sync_cost.py BUILD    prints a line a draw: of three runs each, what else runs on the machine only adds
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Ranks, link, micro-batches a step, width of the model, steps an epoch.
DRAWS = [(2, "5ms,20MB/s", 4, 32, 8), (4, "1ms,5MB/s", 4, 32, 8), (4, "50us,1GB/s", 2, 64, 8),
         (2, "500us,50MB/s", 3, 64, 8), (8, "5ms,20MB/s", 2, 48, 6), (4, "200us,100MB/s", 4, 64, 8),
         (8, "1ms,50MB/s", 4, 32, 6), (2, "100us,20MB/s", 2, 80, 8)]
BATCH = 4


def run(build, folder, draw, *fault):
    ranks, link, accumulate, width, steps = draw
    job = [build / "bin/reference_trainer", "--ranks", ranks, "--epochs", 3, "--batch", BATCH, "--accumulate", accumulate,
           "--samples", ranks * BATCH * accumulate * steps, "--width", width, "--workers", 1, "--timeout", 20,
           "--workdir", folder / "work", *fault]
    command = [build / "bin/ddpscope", "run", "--cpu", "-o", folder / "trace", "--", *job]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True,
                          env={**os.environ, "STANDIN_LINK": link})
    return float(re.search(r"mean step ([0-9.]+) ms", done.stdout).group(1))


def stated(build, folder):
    done = subprocess.run([build / "bin/ddpscope", "report", folder / "trace", "--format", "json"], capture_output=True,
                          text=True)
    costs = [finding["cost"]["ms_per_step"] for finding in json.loads(done.stdout)["findings"]]
    assert len(costs) == 1, done.stdout
    return costs[0]


def main(build):
    print("| ranks | link | micro-batches | gap, ms a step | stated, ms a step | ratio |\n|---|---|---|---|---|---|")
    for draw in DRAWS:
        fixed, faulty, costs = [], [], []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                fixed.append(run(build, pathlib.Path(folder), draw))
            with tempfile.TemporaryDirectory() as folder:
                faulty.append(run(build, pathlib.Path(folder), draw, "--fault", "redundant-accumulation-sync/sync-all"))
                costs.append(stated(build, pathlib.Path(folder)))
        gap, cost = min(faulty) - min(fixed), sorted(costs)[1]
        print(f"| {draw[0]} | {draw[1]} | {draw[2]} | {gap:.2f} | {cost:.2f} | {cost / gap:.2f} |", flush=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
