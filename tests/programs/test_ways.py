"""Ways in which ranks wait for each other without a collective: none is accused, and each is when it is left out."""
import pathlib
import sys

import ddpscope
import pytest

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
PROGRAM = pathlib.Path(__file__).parent / "ranks_by_hand.py"
SEEN = ["pipe", "pair", "socket", "renamed", "first", "shell", "cache", "link", "latest", "folder",
        "linked_file", "linked_access", "linked_folder", "opened", "opened_first", "opened_to_write", "sent_through",
        "closed_unused"]
UNSEEN = ["queue", "posix_queue", "semaphores", "attached", "anonymous", "event", "notice", "datagram", "memory", "signal",
          "stranger", "told", "time", "size", "end", "log", "added", "whole",
          "touched", "touched_open", "folder_time", "folder_cleared", "linked_listing", "linked_folder_time"]  # may be order, or not
BORNE = ["retry", "torn"]  # who reads too early reads again
ASKING = ["size", "end", "time", "touched", "touched_open", "folder_time", "folder_cleared", "linked_file", "linked_access",
          "linked_folder", "linked_listing", "linked_folder_time"]  # of these, what ranks ask for again and again
BUGS = ["once", "twice", "half", "empty", "early"]  # who reads too early goes on with that


def record(folder, *arguments):
    done = ddpscope.record(["timeout", "60", sys.executable, PROGRAM, *arguments], folder / "trace", folder)
    assert done.code == 0, done.stderr
    return ddpscope.report(folder / "trace")


@pytest.mark.one_of(3)
@pytest.mark.parametrize("how", SEEN)
def test_is_order(tmp_path, how, seed):
    report = record(tmp_path, how)
    assert report["findings"] == []
    assert not any("missing-barrier" in row["unjudged"] for row in report["coverage"]), report["coverage"]


@pytest.mark.one_of(3)
@pytest.mark.parametrize("how", UNSEEN)
def test_may_be_order(tmp_path, how, seed):
    report = record(tmp_path, how)
    assert report["findings"] == []
    assert any("missing-barrier" in row["unjudged"] for row in report["coverage"]), report["coverage"]


@pytest.mark.parametrize("how", BORNE)
def test_is_borne(tmp_path, how, seed):
    assert record(tmp_path, how)["findings"] == []


@pytest.mark.one_of(3)
@pytest.mark.parametrize("how", ASKING)
def test_four_ranks(tmp_path, how, seed):
    assert record(tmp_path, how, "--four")["findings"] == []


@pytest.mark.one_of(3)
@pytest.mark.parametrize("how", ASKING)
def test_left_out_by_four_ranks_is_found(tmp_path, how, seed):
    found = record(tmp_path, how, "--four", "--forget")["findings"]
    assert [(f["slug"], f["confidence"], f["ranks"]) for f in found] == [("missing-barrier", "certain", [0, 1, 2, 3])]


@pytest.mark.parametrize("how", BUGS)
def test_is_found(tmp_path, how, seed):
    found = record(tmp_path, how)["findings"]
    assert [(f["slug"], f["confidence"], f["ranks"]) for f in found] == [("missing-barrier", "certain", [0, 1])]
    assert all(step["file"].endswith("/ready") for step in found[0]["evidence"])


def test_asked_once_is_found(tmp_path, seed):
    found = record(tmp_path, "glance")["findings"]
    assert [(f["slug"], f["confidence"], f["ranks"]) for f in found] == [("missing-barrier", "certain", [0, 1])]


# Memory that ranks have from their parent is theirs whether they use it or not: it never says that nothing orders them.
@pytest.mark.one_of(3)
@pytest.mark.parametrize("how", [how for how in SEEN + UNSEEN + BORNE if how != "anonymous"])
def test_left_out_is_found(tmp_path, how, seed):
    found = record(tmp_path, how, "--forget")["findings"]
    assert [(f["slug"], f["confidence"], f["ranks"]) for f in found] == [("missing-barrier", "certain", [0, 1])]
