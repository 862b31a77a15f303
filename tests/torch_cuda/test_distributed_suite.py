"""PyTorch's own distributed tests: what a machine with two GPUs passes on NCCL, passes on the stand-ins; on Gloo tests end as they
do unrecorded, and their reports accuse nobody.

In CI some of the tests run, in tests/run.sh --long all of them. suite/exceptions.txt (NCCL) and suite/on_gloo.txt list those that are
treated otherwise, and why; a test that is listed as failing and passes fails this one, so that the list shrinks.
"""
import os
import pathlib

import ddpscope
import distributed_suite
import pytest
import wheel

SUITE = pathlib.Path(__file__).parent / "suite"
ALL = os.environ.get("DDPSCOPE_RANKS") == "all"


def listed(name, words):
    """Test to what is done with it, of a file of the suite."""
    rows = [line.split(maxsplit=2) for line in (SUITE / name).read_text().splitlines() if line and line[0] != "#"]
    assert all(len(row) == 3 and row[1] in words for row in rows), "no reason, or an unknown word"
    return {test: word for test, word, _ in rows}


@pytest.mark.parametrize("recorded", [True, pytest.param(False, marks=pytest.mark.long)], ids=["recorded", "alone"])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_what_two_gpus_pass(tmp_path, recorded, seed):
    tests = distributed_suite.all_tests("nccl", tmp_path)
    assert len(tests) > 200
    known = listed("exceptions.txt", ("fails", "legacy", "slow"))
    assert set(known) <= set(tests) or wheel.WANTED, "suite/exceptions.txt names tests that are not there"
    chosen = tests if ALL else [test for test in tests[seed % 10::10] if known.get(test) != "slow"]
    legacy = [test for test in chosen if known.get(test) == "legacy"]
    outcomes = distributed_suite.run("nccl", [test for test in chosen if test not in legacy], tmp_path, recorded)
    outcomes |= distributed_suite.run("nccl", legacy, tmp_path, recorded, TORCH_DIST_USE_NCCL2="0")
    failed = {test: end.why for test, end in outcomes.items() if end.outcome == "failed" and known.get(test) != "fails"}
    assert not failed, "\n\n".join(f"{test}: {why[-1500:]}" for test, why in failed.items())
    passed = {test for test, end in outcomes.items() if end.outcome == "passed"}
    assert not {test for test in passed if known.get(test) == "fails"}, "these pass now: take them off suite/exceptions.txt"
    # Half of them skip themselves: they are for Gloo, MPI, or tensors of the CPU.
    assert len(passed) > len(chosen) // 3, outcomes


# Until PyTorch's pull request 170812 a future of Gloo's did not order CUDA streams (issue 155714): what runs behind one reads
# gradients that are not there yet, on a GPU if it is fast enough.
BEHIND_FUTURES = ("test_ddp_apply_optim_in_backward", "test_ddp_native_mixed_precision")

# For CI: of each kind of call one, and those whose ranks do unlike things, one by one or in vain.
TELLING = {
    "gloo": ["test_DistributedDataParallelCPU", "test_accumulate_gradients_no_sync", "test_all_gather_coalesced_with_empty",
             "test_all_gather_object_subgroup", "test_barrier_timeout_global", "test_batch_isend_irecv_gloo_tags", "test_ddp_create_graph",
             "test_monitored_barrier_gloo", "test_scatter_object_list", "test_sparse_all_reduce_sum"],
    "gloo-devices": ["test_ddp_control_flow_different_across_ranks", "test_ddp_join_model_equivalence",
                     "test_ddp_model_diff_num_params_across_ranks", "test_ddp_uneven_input_exception", "test_post_localSGD_optimizer_parity"],
}


def says(report, what, why):
    return any(what in row["what"] and why in row["why"] for row in report["coverage"])


@pytest.mark.long
@pytest.mark.parametrize("backend", ["gloo", pytest.param("gloo-devices", marks=pytest.mark.long)])
def test_reports_of_tests_on_gloo(tmp_path, backend):
    tests = distributed_suite.all_tests(backend, tmp_path)
    assert len(tests) > 200
    known = listed("on_gloo.txt", ("short", "fails"))
    assert set(known) <= set(tests) or wheel.WANTED, "suite/on_gloo.txt names tests that are not there"
    chosen = tests if ALL else TELLING[backend]
    if backend == "gloo-devices" and wheel.has_older_group():
        chosen = [test for test in chosen if not test.startswith(BEHIND_FUTURES)]
    recorded = distributed_suite.run(backend, chosen, tmp_path, recorded=True)
    if ALL or backend == "gloo":
        alone = distributed_suite.run(backend, chosen, tmp_path, recorded=False)
        # The words of one that fails are those of the rank that failed first.
        ends = [{test: (end.outcome, known.get(test) == "fails" or end.why) for test, end in run.items()} for run in (recorded, alone)]
        unlike = {test for test in chosen if ends[0][test] != ends[1][test]}
        assert not unlike, {test: (recorded[test], alone[test]) for test in unlike}
    failed = {test: outcome.why for test, outcome in recorded.items() if outcome.outcome == "failed"}
    assert set(failed) == {test for test in chosen if known.get(test) == "fails" and backend == "gloo-devices"}, failed
    reports = distributed_suite.reports(recorded)
    passed = {test for test, outcome in recorded.items() if outcome.outcome == "passed"}
    assert passed <= set(reports) and len(passed) > len(chosen) // 4, passed - set(reports)
    for test, report in reports.items():
        assert report["findings"] == [] and report["job"]["dropped"] == 0, (test, report["findings"])
        assert not says(report, "torch_values_unread", ""), test
        assert says(report, "the last ", "too short to tell") == (known.get(test) == "short" and test in passed), (test, report["coverage"])
