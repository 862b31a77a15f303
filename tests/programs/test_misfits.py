"""Ranks that do not fit together, where NCCL says nothing: the report names both sides."""
import shutil

import ddpscope
import launch
import pytest
from test_recorded import expect_place, expect_silence, recorded

SOURCE = "misfits.cu"
everywhere = pytest.mark.parametrize("ranks", [2, 4])


def hung(way, ranks, folder, patience):
    done, trace = recorded(launch.trainer("misfits", ranks, way, patience=patience), folder)
    assert done.code == 1
    return trace


@everywhere
def test_a_message_of_another_size(tmp_path, ranks):
    finding = ddpscope.only_finding(hung("sizes", ranks, tmp_path, launch.SHORT), "mismatched-collective")
    assert finding["ranks"] == list(range(ranks))
    assert "send of 1024 float32" in finding["title"] and "receive of 512 float32" in finding["title"]
    expect_place(finding, 0, SOURCE, "ncclSend(")
    expect_place(finding, 1, SOURCE, "ncclFloat, previous")


@everywhere
def test_a_message_as_bytes(tmp_path, ranks):
    expect_silence(launch.trainer("misfits", ranks, "bytes"), tmp_path, ranks)


@everywhere
def test_a_rank_that_left_the_communicator_and_sleeps(tmp_path, ranks):
    finding = ddpscope.only_finding(hung("leaves", ranks, tmp_path, 12), "hung-collective")
    assert (finding["ranks"], finding["confidence"]) == ([ranks - 1], "certain")
    assert f"{SOURCE}:{ddpscope.line_of(launch.SOURCES / SOURCE, '// early')}" in finding["title"]


@everywhere
def test_a_rank_that_does_not_come_to_the_creation(tmp_path, ranks):
    finding = ddpscope.only_finding(hung("absent", ranks, tmp_path, 12), "hung-collective")
    assert finding["ranks"] == [ranks - 1]
    assert "ncclCommInitRank" in finding["title"] and f"for rank {ranks - 1}" in finding["title"]
    expect_place(finding, 0, SOURCE, "ncclCommInitRank(&all")


@pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed")
def test_communicators_of_one_mpirun_that_share_no_rank(tmp_path):
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", 4, launch.PROGRAMS / "misfits", "nccl.id", "halves"]
    expect_silence(command, tmp_path, 4)
