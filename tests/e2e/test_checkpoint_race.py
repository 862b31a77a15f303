"""One rank deletes what the others open, or all rename one folder, with nothing between."""
import ddpscope
import pytest
import trainer

EVICTION = "remove_old(found[old].path)"


def race(name, draw, folder, *extra):
    finding = ddpscope.only_finding(trainer.fault(name, draw, folder, *extra), "checkpoint-race")
    assert (finding["severity"], finding["confidence"]) == ("error", "certain")
    assert finding["ranks"] == list(range(draw.ranks))
    assert finding["file_count"] == len(finding["files"])
    assert "meet before" in finding["advice"]
    return finding


@trainer.everywhere
@pytest.mark.parametrize("late", [0.5, 1.5])
def test_deleted_beside_readers(tmp_path, late, ranks, seed):
    draw = trainer.Draw(seed, f"rotation {late}", ranks)
    finding = race("checkpoint-race/rotation", draw, tmp_path, "--fault-delay", late)
    trainer.assert_at(finding, 0, "remove", trainer.place("checkpoint.cpp", EVICTION))
    for rank in range(1, ranks):
        trainer.assert_at(finding, rank, "open", trainer.place("checkpoint_folder.cpp", "open(path.c_str(), O_RDONLY"))
    assert len(finding["files"]) == draw.epochs - 1, "all but the newest go"
    assert all("/checkpoints/step_" in file for file in finding["files"])


@trainer.everywhere
def test_renamed_by_all(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "rename", ranks)
    finding = race("checkpoint-race/rename", draw, tmp_path)
    for rank in range(ranks):
        trainer.assert_at(finding, rank, "rename", trainer.place("checkpoint.cpp", "rename(temporary, path, gone)"))
    assert len(finding["files"]) == draw.epochs
    assert all("/checkpoints/tmp-step_" in file for file in finding["files"])
