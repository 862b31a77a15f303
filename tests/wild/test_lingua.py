"""Lingua's data-parallel rank and its accumulation (facebookresearch/lingua#66): it is not on PyPI, so a job of ours has its lines."""
import ddpscope
import pytest
from lingua_jobs import SCRIPT, record


def lines_of(*texts):
    return [f"{SCRIPT.name}:{ddpscope.line_of(SCRIPT, text)} " for text in texts]


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
def test_each_micro_batch_is_reduced(tmp_path, ranks):
    finding, = record(tmp_path, ranks, "--micro-batches", "3", "--reduce", "every")["findings"]
    assert (finding["slug"], finding["severity"], finding["confidence"]) == ("redundant-accumulation-sync", "info", "certain"), finding
    assert finding["ranks"] == list(range(ranks)) and "3 times per optimizer step" in finding["title"], finding
    line, = lines_of("(loss / arguments.micro_batches).backward()")
    assert line in finding["title"] + " ", finding["title"]


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
def test_the_last_micro_batch_is_reduced(tmp_path, ranks):
    report = record(tmp_path, ranks, "--micro-batches", "3")
    assert report["findings"] == [], report["findings"]
    assert not {"redundant-accumulation-sync", "missing-gradient-sync"} & {slug for row in report["coverage"] for slug in row["unjudged"]}


@pytest.mark.long  # the formula is wrong from two replicas of three shards on
def test_the_replica_is_multiplied_by_the_number_of_replicas(tmp_path):
    report = record(tmp_path, 6, "--multiply-by", "replicas")
    finding, = report["findings"]
    assert (finding["slug"], finding["severity"], finding["ranks"]) == ("rank-mismatch", "error", [2, 3]), finding
    assert finding["consequences"] == ["duplicate-checkpoint-write"], finding
    assert "the numbers rise by 2, and nobody has 5" in finding["title"], finding
    for rank in (2, 3):
        for line in lines_of("as lines:  # of its own chunk", "with open(folder / f\"train_state_"):
            assert any(line in frame for frame in ddpscope.frames(finding, rank)), (line, finding)


@pytest.mark.long
def test_the_replica_is_multiplied_by_the_number_of_shards(tmp_path):
    assert record(tmp_path, 6)["findings"] == []
