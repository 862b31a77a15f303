"""Traces of several hosts that are not as they should be: one is missing, two have one name, a clock is set, all run still."""
import json

import ddpscope
import hosts
import ports
import pytest
import trainer
from several_hosts import assert_trained, fault, sizes, train

REMAINS = {"unsharded-sampler", "repeated-epoch-order"}


def evidence(report):
    return [step for finding in report["findings"] for step in finding["evidence"]]


@pytest.mark.parametrize("kept", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_host_is_missing(tmp_path, kept):
    with hosts.hosts(2, tmp_path / "hosts") as pair:
        own = [tmp_path / "trace0", tmp_path / "trace1"]
        assert_trained(train(pair, trainer.Draw(1, "missing host", 4), pair[0].shared / "job", own))
    report = ddpscope.report(own[kept])
    missing = "2, 3" if kept == 0 else "0, 1"
    assert report["findings"] == [], "nothing is made up of what is not there"
    assert report["job"]["hosts"] == [f"host{kept}"]
    rows = [row for row in report["coverage"] if missing in row["what"] + row["why"]]
    assert rows and {"missing-barrier", "duplicate-checkpoint-write"} <= {slug for row in rows for slug in row["unjudged"]}


def test_a_bug_with_a_host_missing_is_not_taken_for_another(tmp_path):
    """Of two writers one is not there; nor is the host that wrote what the other one looks for."""
    with hosts.hosts(2, tmp_path / "hosts") as pair:
        own = [tmp_path / "trace0", tmp_path / "trace1"]
        draw = trainer.Draw(1, "missing writer", 4)
        fault(pair, draw, pair[0].shared / "job", own, "duplicate-checkpoint-write/local-rank-data")
        lost = [tmp_path / "lost0", tmp_path / "lost1"]
        fault(pair, draw, pair[0].local / "job", lost, "rank-mismatch/one-writer")
    for trace in own:
        assert ddpscope.report(trace)["findings"] == []
    found = [finding["slug"] for finding in ddpscope.report(lost[1])["findings"]]
    assert set(found) <= {"hung-collective"}, found


@pytest.mark.parametrize("shared", [True, pytest.param(False, marks=pytest.mark.long)])
def test_two_hosts_with_one_name(tmp_path, shared):
    draw, trace = trainer.Draw(1, "one name", 4), tmp_path / "trace"
    with hosts.hosts(2, tmp_path / "hosts", names=["node", "node"]) as pair:
        if shared:
            fault(pair, draw, pair[0].shared / "job", trace, "duplicate-checkpoint-write/local-rank-data")
        else:
            assert_trained(train(pair, draw, pair[0].local / "job", trace, "--twin", "once-per-host"))
    report = ddpscope.report(trace)
    assert report["job"]["hosts"] == ["node", "node#2"] and report["job"]["ranks"] == 4
    if not shared:
        return trainer.assert_silent(trace, perhaps=REMAINS)
    finding = ddpscope.only_finding(trace, "duplicate-checkpoint-write")
    assert finding["ranks"] == [0, 2]
    names = {step["process"].split(":")[0] for step in evidence(report)}
    assert names == {"node", "node#2"}, "who is who can be told"


@pytest.mark.parametrize("step_s", [0.7, pytest.param(-0.7, marks=pytest.mark.long)])
def test_a_clock_is_set_during_the_run(tmp_path, step_s):
    trace = tmp_path / "trace"
    skews = [hosts.Skew(), hosts.Skew(monotonic_s=100, step_s=step_s, step_after_s=3)]
    draw = trainer.Draw(1, "clock is set", 4)
    draw.epochs = 80
    with hosts.hosts(2, tmp_path / "hosts", skews=skews) as pair:
        assert_trained(train(pair, draw, pair[0].shared / "job", trace))
    report = ddpscope.report(trace)
    assert report["findings"] == [] and report["job"]["ranks"] == 4
    told = [row["why"] for row in report["coverage"] if row["what"] == "the clocks of hosts: host0, host1"]
    assert len(told) == 1 and "it was set, or stood still" in told[0], report["coverage"]
    assert report["job"]["clock_error_us"] is None, "nothing bounds the error"


@pytest.mark.long
@sizes
def test_a_trace_that_is_still_written(tmp_path, ranks_per_host, seed):
    """Each look finds the ranks at other places, and accuses none of not being where another one is."""
    trace, looks = tmp_path / "trace", 0
    draw = trainer.Draw(seed, "still written", 2 * ranks_per_host)
    draw.epochs = 60
    with hosts.hosts(2, tmp_path / "hosts") as pair:
        job = [host.start([ddpscope.DDPSCOPE, "run", "--cpu", "-o", trace, "--", trainer.TRAINER, *draw.arguments(),
                           "--workdir", host.shared / "job", "--twin", "slow-rank", "--fault-rank", draw.ranks - 1,
                           "--fault-delay", 0.7],
                          env=variables)
               for host, variables in hosts.ranks(pair, ranks_per_host, ports.free_port())]
        try:
            while any(process.poll() is None for process in job):
                done = ddpscope.start([ddpscope.DDPSCOPE, "report", trace, "--format", "json"], tmp_path)
                if done.code != 2:  # as long as there is none, or the ranks have not found each other yet
                    assert json.loads(done.stdout)["findings"] == [], done.stdout
                    looks += 1
            assert_trained(hosts.finish(job))
        finally:
            hosts.kill(job)
    assert looks >= 3, "the job was over too soon to be looked at"
    trainer.assert_silent(trace, perhaps=REMAINS)
