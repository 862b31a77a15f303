"""Bugs of SpeechBrain's releases in who writes files, and when others read them. Their fixed versions are silent."""
import pytest
import speechbrain_jobs as jobs


@jobs.broken
def test_a_checkpoint_is_deleted_while_others_list_it(tmp_path, ranks):
    """speechbrain #2397: often a rank fails in delete_checkpoints(), but the job may also survive."""
    report = jobs.record("0.5.16", "speechbrain_checkpoints.py", tmp_path, "--save", "all", "--epochs", "6", ranks=ranks, code=None)
    finding = jobs.expect(report, "checkpoint-race", "speechbrain_checkpoints.py", "checkpointer.save_and_keep_only")
    assert 0 in finding["ranks"] and len(finding["ranks"]) > 1, finding  # whoever lists what rank 0 deletes
    assert all(jobs.in_package(finding, "utils/checkpoints.py", rank) for rank in finding["ranks"]), finding


@pytest.mark.parametrize("version", ["1.0.0", pytest.param("1.1.2", marks=pytest.mark.long)])
def test_checkpoints_are_deleted_between_barriers(tmp_path, version):
    jobs.expect_silence(version, "speechbrain_checkpoints.py", tmp_path, "--save", "all", "--epochs", "6")


@jobs.broken
def test_each_node_has_a_main_process(tmp_path, ranks):
    """speechbrain #2506: LOCAL_RANK decides who writes, so on shared storage each node does."""
    report = jobs.record("1.0.0", "speechbrain_on_nodes.py", tmp_path, by="nodes", ranks=ranks)
    finding = jobs.expect(report, "duplicate-checkpoint-write", "speechbrain_on_nodes.py", "torch.save(")
    assert finding["ranks"] == [0, ranks // 2], finding
    assert [file.endswith("pretrained.ckpt") for file in finding["files"]] == [True], finding


@pytest.mark.parametrize("version", ["1.0.1", pytest.param("1.1.2", marks=pytest.mark.long)])
def test_one_process_of_all_nodes_is_the_main_one(tmp_path, version):
    jobs.expect_silence(version, "speechbrain_on_nodes.py", tmp_path, by="nodes")


@jobs.broken
def test_a_test_for_the_text_in_front_of_a_barrier(tmp_path, ranks):
    """speechbrain #2633: who finds the text leaves out a barrier, and reads the model too early."""
    report = jobs.record("1.0.0", "speechbrain_tokenizer.py", tmp_path, "--late", "1", ranks=ranks, code=1)
    finding = jobs.expect(report, "divergent-existence-check", "speechbrain_tokenizer.py", "tokenizer = SentencePiece(")
    assert "train.txt" in finding["title"], finding
    assert finding["title"].count("SentencePiece.py:") == 3, finding  # the look, and what either side waits in
    # Of several ranks that find it one may still wait for a barrier when another has failed.
    assert set(finding["consequences"]) - ({"hung-collective"} if ranks > 2 else set()) == {"missing-barrier"}, finding


@pytest.mark.long
@pytest.mark.parametrize("version, ranks", [("1.0.1", 2), ("1.0.1", 4), ("1.1.2", 2)])
def test_a_test_for_the_model_in_front_of_a_barrier(tmp_path, version, ranks):
    """The mended tokenizer looks for the model still: who finds it leaves out the barrier of the training."""
    report = jobs.record(version, "speechbrain_tokenizer.py", tmp_path, "--late", "1", "--timeout", "8", ranks=ranks, code=1)
    finding = jobs.expect(report, "divergent-existence-check", "speechbrain_tokenizer.py", "tokenizer = SentencePiece(")
    assert "40_bpe.model" in finding["title"] and "SentencePiece.py:" in finding["title"], finding


@pytest.mark.parametrize("version", ["1.0.1", pytest.param("1.1.2", marks=pytest.mark.long)])
def test_all_look_for_the_text_before_it_is_made(tmp_path, version):
    jobs.expect_silence(version, "speechbrain_tokenizer.py", tmp_path, "--late", "1", "--rank", "0")


@jobs.broken
def test_data_is_prepared_without_a_process_group(tmp_path, ranks):
    """speechbrain #1777: run_on_main() waits for nobody as long as no process group was made."""
    report = jobs.record("1.0.1", "speechbrain_prepared.py", tmp_path, by="loop", ranks=ranks, code=1)
    finding = jobs.expect(report, "missing-barrier", "speechbrain_prepared.py", "with open(manifest", "DynamicItemDataset.from_json")
    assert finding["ranks"] == list(range(ranks)) and any(file.endswith("train.json") for file in finding["files"]), finding


@pytest.mark.long
def test_a_rank_is_ended_before_it_has_prepared_the_data(tmp_path):
    """The same under torchrun, which ends rank 0 because rank 1 failed: the report says what cannot be known."""
    report = jobs.record("1.0.1", "speechbrain_prepared.py", tmp_path, "--takes", "60", code=1)
    assert report["findings"] == [], report["findings"]
    row, = [row for row in report["coverage"] if "failed for want of" in row["what"]]
    assert "train.json" in row["what"] and row["unjudged"] == ["missing-barrier"], row
    assert any(line in row["what"] + " " for line in jobs.lines_of("speechbrain_prepared.py", "DynamicItemDataset.from_json")), row


def test_data_is_prepared_with_a_process_group(tmp_path):
    jobs.expect_silence("1.0.1", "speechbrain_prepared.py", tmp_path, "--group", "gloo")


@jobs.broken
def test_a_barrier_of_another_device(tmp_path, ranks):
    """speechbrain #2686, behind #2662: no device was set, so the host waits for device 0, and the barrier runs on another one."""
    report = jobs.record("1.0.1", "speechbrain_prepared.py", tmp_path, "--group", "nccl", cpu=True, ranks=ranks, code=1)
    finding = jobs.expect(report, "ineffective-barrier", "speechbrain_prepared.py", "with open(manifest", "run_on_main(prepare)",
                          "DynamicItemDataset.from_json")
    assert finding["ranks"] == list(range(ranks)) and any(file.endswith("train.json") for file in finding["files"]), finding


@pytest.mark.parametrize("version", jobs.FIXED)
def test_each_process_sets_its_device(tmp_path, version):
    jobs.expect_silence(version, "speechbrain_prepared.py", tmp_path, "--group", "nccl", cpu=True)
