"""Writes what was measured between two markers of docs/measurements.md: a part for GPUs, another for the stand-ins."""
from overhead import BUDGET, CALLS, STEP_MS

MARKERS = {False: ("<!-- gpu: begin -->", "<!-- gpu: end -->"), True: ("<!-- standins: begin -->", "<!-- standins: end -->")}


def write(path, written):
    text = path.read_text()
    begin, end = MARKERS[written["machine"]["standins"]]
    if begin not in text or end not in text:
        raise SystemExit(f"error: {path} has no lines {begin} and {end}")
    before, rest = text.split(begin, 1)
    path.write_text(f"{before}{begin}\n{part(written)}{end}{rest.split(end, 1)[1]}")


def part(written):
    machine, results = written["machine"], {result["name"]: result for result in written["results"]}
    lines = [*heading(machine), "", *overhead_table(results)]
    if not machine["standins"]:
        lines += ["", *outcomes(written["results"])]
    return "\n".join(lines) + "\n"


def heading(machine):
    load = ", ".join(map(str, machine["load"]))
    ran = f"on {machine['date']} at {machine['commit']}, Linux {machine['kernel']}, {machine['cpus']} processors, load average {load}"
    if machine["standins"]:
        return [f"`tests/gpu/run.sh BUILD --standins --only overhead` {ran}."]
    device = machine["device"]
    came = "; ".join(f"{name} {row['path'].rsplit('/', 1)[-1]} ({row['from']})" for name, row in machine["libraries"].items())
    return [f"`tests/gpu/run.sh` {ran}: {device['device']}, driver {device['driver']}, compute capability "
            f"{device['capability']}, CUDA runtime {device['runtime']}, copies within the device at {device['memory_gb_per_s']} GB/s. "
            f"Libraries: {came}."]


def overhead_table(results):
    paired, calls = (results.get(f"overhead.{name}", {}).get("measured") for name in ("step-of-100-ms", "ns-a-call"))
    if not paired:
        return ["Overhead: not measured."]
    shape = paired["shape"]
    text = (f"A step of {paired['step_ms']} ms: {shape['kernels']} kernels and {shape['buckets']} all-reduces of {4 * shape['floats']} "
            f"bytes on a second stream. {paired['rounds']} rounds of runs in turn, there and back; median of the pairs' ratios, and its "
            f"interval by bootstrap (95 %, {paired['rounds']} pairs).")
    if calls:
        text += (f" Nanoseconds a call: the same with kernels that take no time, {calls['shape']['calls']} calls in {calls['step_ms']} ms. "
                 f"Share: that times {CALLS} calls of a step of {STEP_MS} ms.")
    return [text, "", "| tier | paired step, % longer | ns a call | share of the step, % | budget, % |", "|---|---|---|---|---|",
            *(row(kind, budget, paired.get(kind), calls) for kind, budget in BUDGET.items())]


def row(kind, budget, ratio, calls):
    if not ratio:
        return f"| {kind} | not measured: this NCCL tells no times | | | {budget} |"
    ns, share = (spread(calls[kind][key]) for key in ("ns_a_call", "percent_of_step")) if calls else ("", "")
    return f"| {kind} | {spread(ratio)} | {ns} | {share} | {budget} |"


def spread(values):
    middle, low, high = values
    return f"{middle} ({low} to {high})"


def outcomes(results):
    lines = ["| check | outcome | |", "|---|---|---|"]
    for result in results:
        told = result["why"] or ", ".join(f"{key} {value}" for key, value in result["measured"].items() if not isinstance(value, (dict, list)))
        lines.append(f"| {result['name']} | {result['outcome']} | {told.replace('|', '/')[:200]} |")
    return lines
