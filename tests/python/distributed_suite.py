"""PyTorch's own distributed tests (torch_cuda/suite/pytorch_distributed.py): which there are, how they end, their reports."""
import dataclasses
import json
import pathlib
import re

import ddpscope
import wheel

SCRIPT = pathlib.Path(__file__).parents[1] / "torch_cuda" / "suite" / "pytorch_distributed.py"
TESTS_EACH = 60  # a process imports PyTorch once for so many tests


@dataclasses.dataclass
class Outcome:
    outcome: str  # passed, skipped, failed
    why: str
    pids: frozenset  # of its ranks
    trace: pathlib.Path


def all_tests(backend, folder):
    listed = ddpscope.start([wheel.python(), SCRIPT, backend, "--list"], folder, {"CUDA_VISIBLE_DEVICES": ""})
    assert listed.code == 0, listed.stderr[-2000:]
    return listed.stdout.split()


def run(backend, tests, folder, recorded, **environment):
    """Test to outcome; the test in which the runner itself ended has failed. The ranks of each are an attempt of its trace."""
    outcomes, left = {}, list(tests)
    environment |= {"OMP_NUM_THREADS": "1", **({} if recorded else {"DDPSCOPE_DISABLE": "1"})}
    while left:
        part = left[:TESTS_EACH]
        trace = folder / f"trace{len(list(folder.iterdir()))}"
        done = ddpscope.record([wheel.python(), SCRIPT, backend, *part], trace, folder, cpu=backend != "gloo", env=environment,
                               timeout=120 + 60 * len(part), may_leave=True)
        rows = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        outcomes |= {row["test"]: Outcome(row["outcome"], row["why"], frozenset(row["pids"]), trace) for row in rows}
        if len(rows) < len(part):
            why = f"the runner ended with {done.code}: {done.stderr[-2000:]}"
            outcomes[part[len(rows)]] = Outcome("failed", why, frozenset(), trace)
        left = [test for test in left if test not in outcomes]
    return outcomes


def reports(outcomes):
    """Test to the report on its ranks, for tests whose ranks joined a process group."""
    of_test = {}
    for trace in {outcome.trace for outcome in outcomes.values()}:
        attempt = 0
        while pids := pids_of_ranks(trace, attempt):
            tests = [test for test, outcome in outcomes.items() if outcome.trace == trace and outcome.pids & pids]
            for test in tests:
                assert test not in of_test and outcomes[test].pids == pids, f"{tests}: {pids}"
                of_test[test] = ddpscope.report(trace, "--attempt", str(attempt))
            attempt += 1
    return of_test


def pids_of_ranks(trace, attempt):
    """Empty: there is no such attempt."""
    info = ddpscope.start([ddpscope.DDPSCOPE, "info", trace, "--attempt", str(attempt)], trace.parent)
    return {int(pid) for pid in re.findall(r"^\S+:(\d+) rank ", info.stdout, re.MULTILINE)} if info.code == 0 else set()
