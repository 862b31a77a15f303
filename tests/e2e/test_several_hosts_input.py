"""Traces of several hosts that are not as they should be: one is missing, two have one name."""
import ddpscope
import hosts
import pytest
import trainer
from several_hosts import assert_trained, fault, train

REMAINS = {"unsharded-sampler", "repeated-epoch-order"}


def evidence(report):
    return [step for finding in report["findings"] for step in finding["evidence"]]


@pytest.mark.parametrize("kept", [0, 1])
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


@pytest.mark.parametrize("shared", [True, False])
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
