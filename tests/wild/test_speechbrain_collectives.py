"""Bugs of SpeechBrain's releases in how ranks meet: regions of the main process, barriers in them. Their fixed versions are silent."""
import pytest
import speechbrain_jobs as jobs


@jobs.broken
def test_a_collective_in_a_region_of_the_main_process(tmp_path, ranks):
    """speechbrain #2401: rank 0 broadcasts the folder's name to ranks that wait in the barrier of run_on_main."""
    report = jobs.record("0.5.16", "speechbrain_checkpoints.py", tmp_path, "--save", "main", ranks=ranks, code=1)
    finding = jobs.expect(report, "mismatched-collective", "speechbrain_checkpoints.py", "run_on_main(checkpointer.save_checkpoint")
    assert "hung-collective" in finding["consequences"], finding
    assert "broadcast" in finding["title"] and "barrier" in finding["title"], finding
    assert jobs.in_package(finding, "utils/checkpoints.py", 0) and jobs.in_package(finding, "utils/distributed.py", 1), finding


@pytest.mark.parametrize("version", ["1.0.0", pytest.param("1.1.2", marks=pytest.mark.long)])
def test_the_region_is_known(tmp_path, version):
    jobs.expect_silence(version, "speechbrain_checkpoints.py", tmp_path, "--save", "main")


@jobs.broken
def test_regions_of_the_main_process_in_each_other(tmp_path, ranks):
    """speechbrain #2268: run_on_main() within run_on_main(): rank 0 runs a barrier more."""
    report = jobs.record("0.5.16", "speechbrain_nested.py", tmp_path, ranks=ranks, code=1)
    finding = jobs.expect(report, "skipped-barrier", "speechbrain_nested.py", "run_on_main(prepare)", "all_reduce(lengths)",
                          confidence="likely" if ranks == 2 else "certain")  # of two ranks nobody knows which is right
    assert finding["title"].startswith("rank 1 does not run the barrier that rank 0 runs" if ranks == 2 else
                                       "rank 0 runs a barrier once more than ranks 1, 2 and 3"), finding


@pytest.mark.long
@pytest.mark.parametrize("version", ["1.0.0", "1.1.2"])
def test_regions_in_each_other_are_one(tmp_path, version):
    jobs.expect_silence(version, "speechbrain_nested.py", tmp_path)


@jobs.broken
def test_a_region_that_fails_is_never_left(tmp_path, ranks):
    """speechbrain #2682: a function of the main process raises; rank 0 leaves out all barriers from then on."""
    report = jobs.record("1.0.1", "speechbrain_logged.py", tmp_path, ranks=ranks, code=1)
    finding = jobs.expect(report, "skipped-barrier", "speechbrain_logged.py", "run_on_main(prepare)", "all_reduce(lengths)",
                          confidence="likely" if ranks == 2 else "certain")
    assert finding["title"].startswith("rank 0 does not run the barrier that rank"), finding
    assert finding["consequences"] == ["hung-collective", "mismatched-collective"], finding


@pytest.mark.parametrize("version", jobs.FIXED)
def test_a_region_that_fails_is_left(tmp_path, version):
    jobs.expect_silence(version, "speechbrain_logged.py", tmp_path)
