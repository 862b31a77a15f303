"""PyTorch's own distributed tests on the stand-ins: what a machine with two GPUs passes, passes here.

In CI every tenth test runs, in tests/run.sh --long all of them. suite/exceptions.txt lists those that are treated otherwise, and
why; a test that is listed as failing and passes fails this one, so that the list shrinks.
"""
import json
import os
import pathlib

import ddpscope
import pytest
import wheel

SUITE = pathlib.Path(__file__).parent / "suite"
ALL = os.environ.get("DDPSCOPE_RANKS") == "all"
TESTS_EACH = 60  # a process imports PyTorch once for so many tests


def exceptions():
    """Test to what is done with it."""
    rows = [line.split(maxsplit=2) for line in (SUITE / "exceptions.txt").read_text().splitlines() if line and line[0] != "#"]
    assert all(len(row) == 3 and row[1] in ("fails", "legacy", "slow") for row in rows), "no reason, or an unknown word"
    return {test: word for test, word, _ in rows}


def run_suite(tests, folder, recorded, **more):
    """Test to outcome and reason; the test in which the runner itself ended has failed."""
    outcomes, left = {}, list(tests)
    while left:
        part = left[:TESTS_EACH]
        command = [wheel.python(), SUITE / "nccl_distributed.py", *part]
        environment = {"OMP_NUM_THREADS": "1", **({} if recorded else {"DDPSCOPE_DISABLE": "1"}), **more}
        trace = folder / f"trace{len(list(folder.iterdir()))}"
        done = ddpscope.record(command, trace, folder, cpu=True, env=environment, timeout=120 + 60 * len(part), may_leave=True)
        rows = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        outcomes |= {row["test"]: (row["outcome"], row["why"]) for row in rows}
        if len(rows) < len(part):
            outcomes[part[len(rows)]] = "failed", f"the runner ended with {done.code}: {done.stderr[-2000:]}"
        left = [test for test in left if test not in outcomes]
    return outcomes


def all_tests(folder):
    listed = ddpscope.start([wheel.python(), SUITE / "nccl_distributed.py", "--list"], folder, {"CUDA_VISIBLE_DEVICES": ""})
    assert listed.code == 0, listed.stderr[-2000:]
    return listed.stdout.split()


@pytest.mark.parametrize("recorded", [True, pytest.param(False, marks=pytest.mark.long)], ids=["recorded", "alone"])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_what_two_gpus_pass(tmp_path, recorded, seed):
    tests = all_tests(tmp_path)
    assert len(tests) > 200
    known = exceptions()
    assert set(known) <= set(tests) or wheel.WANTED, "suite/exceptions.txt names tests that are not there"
    chosen = tests if ALL else [test for test in tests[seed % 10::10] if known.get(test) != "slow"]
    legacy = [test for test in chosen if known.get(test) == "legacy"]
    outcomes = run_suite([test for test in chosen if test not in legacy], tmp_path, recorded)
    outcomes |= run_suite(legacy, tmp_path, recorded, TORCH_DIST_USE_NCCL2="0")
    failed = {test: why for test, (outcome, why) in outcomes.items() if outcome == "failed" and known.get(test) != "fails"}
    assert not failed, "\n\n".join(f"{test}: {why[-1500:]}" for test, why in failed.items())
    passed = {test for test, (outcome, _) in outcomes.items() if outcome == "passed"}
    assert not {test for test in passed if known.get(test) == "fails"}, "these pass now: take them off suite/exceptions.txt"
    # Half of them skip themselves: they are for Gloo, MPI, or tensors of the CPU.
    assert len(passed) > len(chosen) // 3, outcomes
