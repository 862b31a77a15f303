"""Bugs of SpeechBrain's releases, found where they were, and their fixed versions silent."""
import pytest
import speechbrain_jobs as jobs


def test_a_collective_in_a_region_of_the_main_process(tmp_path):
    """speechbrain #2401: rank 0 broadcasts the folder's name to ranks that wait in the barrier of run_on_main."""
    report = jobs.record("0.5.16", "speechbrain_checkpoints.py", tmp_path, "--save", "main", code=1)
    finding = jobs.expect(report, "mismatched-collective", "speechbrain_checkpoints.py", "run_on_main(checkpointer.save_checkpoint")
    assert "hung-collective" in finding["consequences"], finding
    assert "broadcast" in finding["title"] and "barrier" in finding["title"], finding
    assert jobs.in_package(finding, "utils/checkpoints.py", 0) and jobs.in_package(finding, "utils/distributed.py", 1), finding


def test_the_region_is_known(tmp_path):
    assert jobs.record("1.0.0", "speechbrain_checkpoints.py", tmp_path, "--save", "main")["findings"] == []


def test_a_checkpoint_is_deleted_while_others_list_it(tmp_path):
    """speechbrain #2397: often a rank fails in delete_checkpoints(), but the job may also survive."""
    report = jobs.record("0.5.16", "speechbrain_checkpoints.py", tmp_path, "--save", "all", "--epochs", "6", code=None)
    finding = jobs.expect(report, "checkpoint-race", "speechbrain_checkpoints.py", "checkpointer.save_and_keep_only")
    assert finding["ranks"] == [0, 1], finding
    assert all(jobs.in_package(finding, "utils/checkpoints.py", rank) for rank in (0, 1)), finding


def test_checkpoints_are_deleted_between_barriers(tmp_path):
    assert jobs.record("1.0.0", "speechbrain_checkpoints.py", tmp_path, "--save", "all", "--epochs", "6")["findings"] == []


def test_each_node_has_a_main_process(tmp_path):
    """speechbrain #2506: LOCAL_RANK decides who writes, so on shared storage each node does."""
    report = jobs.record("1.0.0", "speechbrain_on_nodes.py", tmp_path, by="nodes")
    finding = jobs.expect(report, "duplicate-checkpoint-write", "speechbrain_on_nodes.py", "torch.save(")
    assert finding["ranks"] == [0, 1] and [file.endswith("pretrained.ckpt") for file in finding["files"]] == [True], finding


def test_one_process_of_all_nodes_is_the_main_one(tmp_path):
    assert jobs.record("1.0.1", "speechbrain_on_nodes.py", tmp_path, by="nodes")["findings"] == []


def test_a_test_for_the_text_in_front_of_a_barrier(tmp_path):
    """speechbrain #2633: who finds the text leaves out a barrier, and reads the model too early."""
    report = jobs.record("1.0.0", "speechbrain_tokenizer.py", tmp_path, "--late", "1", code=1)
    finding = jobs.expect(report, "divergent-existence-check", "speechbrain_tokenizer.py", "tokenizer = SentencePiece(")
    assert "train.txt" in finding["title"] and "SentencePiece.py:" in finding["title"], finding
    assert finding["consequences"] == ["missing-barrier"], finding


@pytest.mark.long
def test_a_test_for_the_model_in_front_of_a_barrier(tmp_path):
    """The mended tokenizer looks for the model still: who finds it leaves out the barrier of the training."""
    report = jobs.record("1.0.1", "speechbrain_tokenizer.py", tmp_path, "--late", "1", "--timeout", "8", code=1)
    finding = jobs.expect(report, "divergent-existence-check", "speechbrain_tokenizer.py", "tokenizer = SentencePiece(")
    assert "40_bpe.model" in finding["title"] and "SentencePiece.py:" in finding["title"], finding


def test_all_look_for_the_text_before_it_is_made(tmp_path):
    assert jobs.record("1.0.1", "speechbrain_tokenizer.py", tmp_path, "--late", "1", "--rank", "0")["findings"] == []


def test_data_is_prepared_without_a_process_group(tmp_path):
    """speechbrain #1777: run_on_main() waits for nobody as long as no process group was made."""
    report = jobs.record("1.0.1", "speechbrain_prepared.py", tmp_path, by="loop", code=1)
    finding = jobs.expect(report, "missing-barrier", "speechbrain_prepared.py", "with open(manifest", "DynamicItemDataset.from_json")
    assert finding["ranks"] == [0, 1] and any(file.endswith("train.json") for file in finding["files"]), finding


@pytest.mark.long
def test_a_rank_is_ended_before_it_has_prepared_the_data(tmp_path):
    """The same under torchrun, which ends rank 0 because rank 1 failed: the report says what cannot be known."""
    report = jobs.record("1.0.1", "speechbrain_prepared.py", tmp_path, "--takes", "60", code=1)
    assert report["findings"] == [], report["findings"]
    row, = [row for row in report["coverage"] if "failed for want of" in row["what"]]
    assert "train.json" in row["what"] and row["unjudged"] == ["missing-barrier"], row
    assert any(line in row["what"] + " " for line in jobs.lines_of("speechbrain_prepared.py", "DynamicItemDataset.from_json")), row


def test_data_is_prepared_with_a_process_group(tmp_path):
    assert jobs.record("1.0.1", "speechbrain_prepared.py", tmp_path, "--group")["findings"] == []


def test_regions_of_the_main_process_in_each_other(tmp_path):
    """speechbrain #2268: run_on_main() within run_on_main(): rank 0 runs a barrier more."""
    report = jobs.record("0.5.16", "speechbrain_nested.py", tmp_path, code=1)
    finding = jobs.expect(report, "skipped-barrier", "speechbrain_nested.py", "run_on_main(prepare)", "all_reduce(lengths)",
                          confidence="likely")  # of two ranks nobody knows which is right
    assert finding["title"].startswith("rank 1 does not run the barrier that rank 0 runs"), finding


@pytest.mark.long
def test_regions_in_each_other_are_one(tmp_path):
    assert jobs.record("1.0.0", "speechbrain_nested.py", tmp_path)["findings"] == []
