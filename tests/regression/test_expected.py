"""What the reference trainer communicates and what is found in it, as committed in expected/: a change of either is red.

Nothing that depends on how fast a machine is: no durations, no GPU times, of findings those that need neither.
"""
import json
import pathlib

import committed
import ddpscope
import pytest

EXPECTED = pathlib.Path(__file__).parent / "expected"
TRAINER = ddpscope.BUILD / "bin/reference_trainer"

JOBS = {
    "data-parallel": ["--ranks", 2],
    "tensor-parallel": ["--ranks", 4, "--twin", "tensor-parallel"],
    "redundant-accumulation-sync": ["--ranks", 2, "--fault", "redundant-accumulation-sync/every-micro-batch"],
}
SHORT = ["--epochs", 2, "--samples", 256]


def summarise(folder, *arguments):
    """Runs the trainer; returns its summary, without what a machine's speed decides."""
    run = [ddpscope.DDPSCOPE, "run", "--cpu", "--gpu-timing", "none", "-o", folder / "trace", "--"]
    job = ddpscope.start([*run, TRAINER, *SHORT, *arguments, "--workdir", folder / "out"], folder)
    assert job.code == 0, job.stderr
    file = folder / "summary.json"
    made = ddpscope.start([ddpscope.DDPSCOPE, "export", folder / "trace", "--format", "summary", "-o", file], folder)
    assert made.code == 0, made.stderr
    summary = {**json.loads(file.read_text()), "durations": []}
    file.write_text(json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return file


def differences(base, now):
    """What `diff` tells, whether it takes it for a regression or not."""
    done = ddpscope.start([ddpscope.DDPSCOPE, "diff", base, now, "--format", "json"], EXPECTED)
    assert done.code in (0, 1), done.stderr
    told = json.loads(done.stdout)
    assert told["regression"] == (done.code == 1)
    return {what: told[what] for what in ("new", "worse", "better", "gone", "issued", "not_judged") if told[what]}


@pytest.mark.parametrize("job", JOBS)
def test_the_trainer_is_as_committed(job, tmp_path):
    now, expected = summarise(tmp_path, *JOBS[job]), EXPECTED / f"{job}.json"
    if committed.RENEW:
        expected.write_text(now.read_text())
    assert differences(expected, now) == {}, committed.HOW
    assert differences(now, expected) == {}, committed.HOW  # neither was judged in one of them only


def issued(told):
    return [(change["base"], change["new"]) for change in told["issued"]]


def test_one_more_reduction_a_step_is_red(tmp_path):
    now = summarise(tmp_path, *JOBS["redundant-accumulation-sync"])
    told = differences(EXPECTED / "data-parallel.json", now)
    assert all(new > base for base, new in issued(told)) and told["issued"]
    assert [finding["slug"] for finding in told["new"]] == ["redundant-accumulation-sync"]


def test_larger_buckets_are_red_though_they_are_no_regression(tmp_path):
    now = summarise(tmp_path, *JOBS["data-parallel"], "--bucket-bytes", 1 << 30)
    told = differences(EXPECTED / "data-parallel.json", now)
    assert set(told) == {"issued"} and sum(new for _, new in issued(told)) < sum(base for base, _ in issued(told))
