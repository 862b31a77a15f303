"""Prints what recording and analysing cost, as tables for docs/measurements.md; see run.sh."""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import scenarios

CALLS = 1_000_000


def table(*rows):
    for number, row in enumerate(rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |")
        if number == 0:
            print("|" + "---|" * len(row))
    print(flush=True)


def least_and_median(values, digits=0):
    values = list(values)
    return f"{min(values):.{digits}f} / {statistics.median(values):.{digits}f}"


def most_and_median(values):
    values = list(values)
    return f"{max(values):.1f} / {statistics.median(values):.1f}"


def events_and_losses(build, trace):
    command = [build / "bin" / "ddpscope", "report", trace, "--format", "json", "--fail-on", "none"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=120)
    job = json.loads(done.stdout)["job"]
    return job["events"], job["dropped"]


def measure_once(scenario, build, disk):
    with scenarios.folder(disk if scenario.on_disk else scenarios.TMPFS) as trace:
        result = scenarios.run(scenario, build, CALLS, trace)
        files = list(trace.glob("*.ddps"))
        if files and scenario.call in ("differing", "regular", "python"):  # each of its calls is a record
            result["bytes"] = sum(file.stat().st_size for file in files) / CALLS
            events, result["lost"] = events_and_losses(build, trace)
            if events < CALLS:
                sys.exit(f"error: {scenario.name}: {events} of {CALLS} calls are in the trace")
    return result


def more(results, figure):
    """What a hooked call took more than a bare one of the same run."""
    return [result["hooked"][figure] - result["bare"][figure] for result in results]


def row_of(scenario, results, instructions):
    return (scenario.name, least_and_median(more(results, "p50")), least_and_median(more(results, "processor")),
            least_and_median(more(results, "mean")),
            least_and_median(result["hooked"]["p99.9"] for result in results),
            least_and_median((result["hooked"]["max"] / 1000 for result in results)),
            least_and_median((result["idle"]["max"] / 1000 for result in results)),
            f"{instructions:.0f}" if instructions is not None else "skipped",
            f"{results[0]['bytes']:.1f}" if "bytes" in results[0] else "",
            max(result["lost"] for result in results) if "lost" in results[0] else "", scenario.wanted)


def calls(build, disk, repeats):
    """All scenarios in turn, again and again: a machine that gets slower slows them all."""
    results = {scenario.name: [] for scenario in scenarios.SCENARIOS}
    for _ in range(repeats):
        for scenario in scenarios.SCENARIOS:
            results[scenario.name].append(measure_once(scenario, build, disk))
    print(f"What a hooked call costs more than a bare one, ns, {CALLS} calls a run, {repeats} runs: least / median.\n")
    table(("call", "p50", "mean, processor time", "mean, wall", "p99.9 (not less bare)", "max, µs",
           "idle machine's max, µs", "instructions", "bytes", "lost", "wanted"),
          *(row_of(scenario, results[scenario.name], scenarios.instructions(scenario, build))
            for scenario in scenarios.SCENARIOS))


def benchmark(program, *options, env=None):
    done = subprocess.run([program, "--benchmark_format=json", *options], env={**os.environ, **(env or {})},
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True, timeout=600)
    return [row for row in json.loads(done.stdout)["benchmarks"] if row["run_type"] == "iteration"]


def threads(build, repeats):
    """Processor time a call, by the number of threads that make it at once."""
    times = {}
    for _ in range(repeats):
        with scenarios.folder(scenarios.TMPFS) as trace:
            for row in benchmark(build / "bin" / "bench" / "bench_threads", env={
                    "LD_PRELOAD": str(build / "lib" / "libddpscope.so"), "DDPSCOPE_TRACE": str(trace)}):
                name = row["name"].split("/")[0]
                times.setdefault(name, {}).setdefault(row["threads"], []).append(row["cpu_time"])
    counts = sorted(next(iter(times.values())))
    print(f"Threads that call at once, processor time a call, ns, {repeats} runs: least / median.\n")
    table(("threads", *counts),
          *((name.replace("_", " "), *(least_and_median(by_count[count]) for count in counts))
            for name, by_count in times.items()))


def writer_and_reader(build, disk, repeats):
    """The parts of trace/ by themselves, without a hook."""
    runs = {}
    for row in benchmark(build / "bin" / "bench" / "bench_trace", disk, f"--benchmark_repetitions={repeats}"):
        runs.setdefault(row["name"].split("/iterations")[0], []).append(row)
    print(f"The writer by itself: a record opened and closed, ns, {repeats} runs: least / median.\n")
    table(("records", "p50", "p99.9", "processor time", "bytes", "lost"),
          *((name, *(least_and_median(row[figure] for row in rows) for figure in ("p50", "p99.9", "processor")),
             f"{rows[0]['bytes']:.1f}", max(int(row["lost"]) for row in rows))
            for name, rows in runs.items() if name.startswith("record/")))
    print(f"A chunk of 256 KiB opened, {repeats} runs: least / median.\n")
    table(("chunk", "processor time, µs"),
          *((name, least_and_median(row["cpu_time"] for row in rows))
            for name, rows in runs.items() if name.startswith("open_chunk/")))
    print(f"The reader, one core, {repeats} runs.\n")
    table(("records", "million a second, most / median"),
          *((name, most_and_median(row["items_per_second"] / 1e6 for row in rows))
            for name, rows in runs.items() if name.startswith("read/")))


def analysis(build, repeats):
    """`ddpscope report` on made-up jobs: the processor time of all its threads, as one core would need it."""
    rows = [("trace", "events", "million events a second of processor time, most / median")]
    for name, options in (("8 ranks", ("--ranks", "8", "--steps", "4000")),
                          ("8 ranks, folded", ("--ranks", "8", "--steps", "4000", "--fold", "1")),
                          ("8 ranks, no file shared", ("--ranks", "8", "--steps", "4000", "--data-there", "1")),
                          ("8 ranks, 10,000 files handed on", ("--ranks", "8", "--steps", "5000", "--shared-files", "10000")),
                          ("the same, with messages and threads", (
                              "--ranks", "8", "--steps", "2500", "--shared-files", "10000", "--hand-overs", "10",
                              "--messages", "10"))):
        with scenarios.folder(scenarios.TMPFS) as folder:
            trace = folder / "trace"
            subprocess.run([build / "bin" / "tracegen", "--out", trace, *options], stdout=subprocess.DEVNULL,
                           check=True, timeout=300)
            speeds = []
            for _ in range(repeats):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                events = events_and_losses(build, trace)[0]
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                speeds.append(events / 1e6 / (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime))
            rows.append((name, events, most_and_median(speeds)))
    print(f"The collector: `ddpscope report`, {repeats} runs; wanted: 5.\n")
    table(*rows)


def answers(build, repeats):
    """`ddpscope status` on long traces: a rank has left, the others wait; what the job has recorded is its size."""
    rows = [("trace", "MB", "processor time, ms", "wall time, ms (0 to 250 of it between two looks)")]
    for name, options in (("8 ranks", ("--steps", "20000")), ("8 ranks, folded", ("--steps", "100000", "--fold", "1"))):
        with scenarios.folder(scenarios.TMPFS) as folder:
            trace = folder / "trace"
            subprocess.run([build / "bin" / "tracegen", "--out", trace, "--ranks", "8", "--fault", "hung-collective",
                            *options], stdout=subprocess.DEVNULL, check=True, timeout=300)
            megabytes = sum(file.stat().st_size for file in trace.iterdir()) / 1e6
            spent, waited = [], []
            for _ in range(repeats):
                before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
                done = subprocess.run([build / "bin" / "ddpscope", "status", trace], stdout=subprocess.DEVNULL)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                assert done.returncode == 1, f"status ended with {done.returncode}"
                waited.append(1e3 * (time.monotonic() - began))
                spent.append(1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime))
            rows.append((name, f"{megabytes:.0f}", least_and_median(spent), least_and_median(waited)))
    print(f"`ddpscope status`, {repeats} runs: least / median; wanted: 1000.\n")
    table(*rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--disk", type=pathlib.Path, help="folder on a disk; the build folder if not given")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", choices=["answers"], help="one part of it; all if not given")
    given = parser.parse_args()
    build = given.build.resolve()
    disk = (given.disk or build).resolve()
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f} at the start\n")
    if not given.only:
        calls(build, disk, given.repeats)
        threads(build, given.repeats)
        writer_and_reader(build, disk, given.repeats)
        analysis(build, given.repeats)
    answers(build, given.repeats)
    print(f"load average {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
