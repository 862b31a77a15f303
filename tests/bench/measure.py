"""Prints what recording and analysing cost, as tables for docs/measurements.md; see run.sh."""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys

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


def events_and_losses(build, trace):
    """Of a trace in which one process recorded; losses are what `info` counts of any kind."""
    done = subprocess.run([build / "bin" / "ddpscope", "report", trace, "--format", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120)
    job = json.loads(done.stdout)["job"]
    return job["events"], job["dropped"]


def measure_once(scenario, build, disk):
    with scenarios.folder(disk if scenario.on_disk else scenarios.TMPFS) as trace:
        result = scenarios.run(scenario, build, CALLS, trace)
        files = list(trace.glob("*.ddps"))
        if files and scenario.call != "read" and scenario.call != "write":
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
    done = subprocess.run([str(program), "--benchmark_format=json", *options], env={**os.environ, **(env or {})},
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
    table(("communicator", *(f"{count} threads" for count in counts)),
          *((name.replace("_", " "), *(least_and_median(by_count[count]) for count in counts))
            for name, by_count in times.items()))


def reading(build, disk):
    rows = benchmark(build / "bin" / "bench" / "bench_trace", str(disk), "--benchmark_filter=read/")
    print("Reading a trace file, one core.\n")
    table(("records", "million a second"), *((row["name"], f"{row['items_per_second'] / 1e6:.1f}") for row in rows))


def analysis(build, repeats):
    """`ddpscope report` on made-up jobs, on one core."""
    rows = [("trace", "events", "million events a second of processor time, most / median")]
    for name, options in (("8 ranks", ("--ranks", "8", "--steps", "4000")),
                          ("8 ranks, folded", ("--ranks", "8", "--steps", "4000", "--fold", "1"))):
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
            rows.append((name, events, f"{max(speeds):.1f} / {statistics.median(speeds):.1f}"))
    print(f"The collector: `ddpscope report` on one core, {repeats} runs; wanted: 5.\n")
    table(*rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--disk", type=pathlib.Path, help="folder on a disk; the build folder if not given")
    parser.add_argument("--repeats", type=int, default=10)
    given = parser.parse_args()
    build = given.build.resolve()
    disk = (given.disk or build).resolve()
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f} at the start\n")
    calls(build, disk, given.repeats)
    threads(build, given.repeats)
    reading(build, disk)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # from here on one core
    analysis(build, given.repeats)
    print(f"load average {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
