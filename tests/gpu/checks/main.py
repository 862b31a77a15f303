"""Runs the checks and says what came out; see ../README.md and ../run.sh."""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests" / "python"))


def arguments():
    parser = argparse.ArgumentParser(prog="run.sh", description="Checks ddpscope on this machine's GPU.")
    packed = ROOT / "build" / "bin" / "ddpscope"
    default = ROOT / "build" if packed.exists() else ROOT / "build" / "dev"
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=default, help=f"build folder (default {default})")
    parser.add_argument("--standins", action="store_true", help="run on the CPU stand-ins: no GPU is needed, nothing about one is shown")
    parser.add_argument("--only", default="", help="names, or beginnings of names, of checks, separated by commas")
    parser.add_argument("--out", type=pathlib.Path, help="folder for results and outputs (default ./gpu-checks.TIME)")
    parser.add_argument("--seconds", type=float, default=480, help="checks that would begin later are skipped (default 480)")
    parser.add_argument("--rounds", type=int, help="rounds of paired runs of the overhead checks")
    parser.add_argument("--page", type=pathlib.Path, help="write what was measured into this copy of docs/measurements.md")
    parser.add_argument("--as-if-gpu", action="store_true", help=argparse.SUPPRESS)  # the test of this: a stand-in is taken for one
    parser.add_argument("--list", action="store_true", help="print the names of the checks")
    return parser.parse_args()


def commit():
    """Of the tree, or the one that the pack was made of."""
    packed = ROOT / "commit"
    if packed.exists():
        return packed.read_text().strip()
    if not (ROOT / ".git").exists():
        return "unknown"
    git = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%h"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True)
    return git.stdout.strip() or "unknown"


def refuse(text, hint=""):
    print(f"error: {text}" + (f"\nhint: {hint}" if hint else ""), file=sys.stderr)
    return 2


def chosen(checks, only):
    """(the checks that are meant, the names that mean none)"""
    names = [name for name in only.split(",") if name]
    meant = [one for one in checks if not names or any(one.name.startswith(name) for name in names)]
    return meant, [name for name in names if not any(one.name.startswith(name) for one in checks)]


def against_folder(out):
    """Makes it; why it cannot be taken. What an earlier run has left there would be taken for this one's."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        return "the folder is not empty" if any(out.iterdir()) else ""
    except OSError as reason:
        return reason.strerror


def describe(machine):
    return {"standins": machine.standins, "date": datetime.date.today().isoformat(), "commit": commit(),
            "kernel": platform.release(), "cpus": os.cpu_count(), "load": [round(value, 1) for value in os.getloadavg()],
            "python": platform.python_version(), "device": machine.device,
            "libraries": {name: {"path": str(path), "from": source} for name, (path, source) in machine.libraries.items()}}


def say(result):
    mark = {"passed": "passed ", "failed": "FAILED ", "skipped": "skipped"}[result.outcome]
    print(f"{mark} {result.seconds:6.1f} s  {result.name}" + (f": {result.why}" if result.why else ""), flush=True)


def skip_all(checks, why):
    import check
    return [check.Result(one.name, "skipped", why, 0, {}) for one in checks]


def run_all(checks, machine, out, seconds):
    import check
    results, end = [], time.monotonic() + seconds
    for one in checks:
        if time.monotonic() > end:
            results += skip_all([one], f"the {seconds:.0f} s were over")
        else:
            results.append(check.run(one, machine, out / one.name))
        say(results[-1])
    return results


def how_to_build(build):
    """Only a tree that was configured with the tests has the target; that of preset release was not."""
    cache = build / "CMakeCache.txt"
    if cache.is_file() and re.search(r"^BUILD_TESTING:\w+=(ON|TRUE|YES|1)$", cache.read_text(), re.MULTILINE | re.IGNORECASE):
        return f"cmake --build {build} --target gpu_checks"
    return ("cmake --preset dev && cmake --build build/dev --target gpu_checks, in the repository; "
            "then tests/gpu/run.sh build/dev")


def main():
    options = arguments()
    if not (options.build / "bin" / "gpu_guest").exists():
        return refuse(f"{options.build}: here is no built tree, or gpu_guest is missing in it", how_to_build(options.build))
    if options.page and not options.page.is_file():
        return refuse(f"{options.page}: there is no such page")
    os.environ["DDPSCOPE_BUILD"] = str(options.build.resolve())
    # In the order in which they run: what is cheap and what the rest stands on comes first.
    import check
    import cupti, nccl, trainer, torch_ddp, dry_run, overhead  # noqa: F401, E401
    import page
    from machine import Machine
    checks, unknown = chosen(check.REGISTERED, options.only)
    if unknown:
        return refuse(f"--only: no check is called {' or '.join(unknown)}",
                      f"the checks are {', '.join(one.name for one in check.REGISTERED)}")
    if options.list:
        print("\n".join(f"{one.name}  about {one.seconds} s" for one in checks))
        return 0
    out = (options.out or pathlib.Path(f"gpu-checks.{time.strftime('%Y%m%d-%H%M%S')}")).resolve()
    against = against_folder(out)
    if against:
        return refuse(f"{out}: {against}", "--out takes a new folder, or an empty one")
    machine = Machine(options.build.resolve(), out, options.standins)
    os.environ["LD_LIBRARY_PATH"] = machine.variables("own")["LD_LIBRARY_PATH"]  # for `dump` and `report`
    if options.rounds:
        machine.rounds = options.rounds
    try:
        machine.look(out)
    except (check.Failed, check.Skipped) as reason:
        return refuse(f"no CUDA device can be used: {reason}", "--standins runs the checks without one, and shows nothing about a GPU")
    if machine.is_standin() and not (options.standins or options.as_if_gpu):
        return refuse("the CUDA runtime that was found is the stand-in: --standins says so")
    print(f"on {machine.device['device']}, driver {machine.device['driver']}")
    results = run_all(checks, machine, out, options.seconds)
    written = {"machine": describe(machine), "results": [dataclasses.asdict(result) for result in results]}
    (out / "results.json").write_text(json.dumps(written, indent=1) + "\n")
    if options.page and not options.as_if_gpu:
        page.write(options.page, written)
    counts = {outcome: sum(result.outcome == outcome for result in results) for outcome in ("passed", "failed", "skipped")}
    print(f"results in {out}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    if counts["skipped"] == len(results):
        return refuse("no check has run")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
