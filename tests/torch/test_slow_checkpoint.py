"""A job on Gloo whose others wait while rank 0 saves to a slow disk, and those in which nobody has to."""
import caching_mount
import ddpscope
import jobs
import pytest

JOB = "one_saves.py"
EPOCHS, WIDTH = 3, 512
PACE = 4 * WIDTH * WIDTH / 1.6  # bytes a second: a save takes longer than the second from which it counts


def run(tmp_path, ranks, how, pace=PACE):
    caching_mount.skip_where_impossible()
    (tmp_path / "backing").mkdir()
    with caching_mount.mounted(tmp_path / "backing", tmp_path / "checkpoints", bytes_per_second=pace) as folder:
        return jobs.run_recorded(jobs.Job(JOB, [folder, "--how", how, "--epochs", EPOCHS, "--width", WIDTH], ranks), tmp_path)


@pytest.mark.parametrize("how", ["next-step", pytest.param("barrier", marks=pytest.mark.long)])
@pytest.mark.parametrize("ranks", [2, 4])
def test_all_wait_for_rank_0(tmp_path, ranks, how):
    finding = ddpscope.only_finding(run(tmp_path, ranks, how), "slow-checkpoint")
    assert finding["ranks"] == [0] and finding["severity"] == "warning" and finding["count"] == EPOCHS
    save, waits = (f"{JOB}:{ddpscope.line_of(jobs.SCRIPTS / JOB, text)} "
                   for text in ("torch.save(state", "    dist.barrier()" if how == "barrier" else "loss.backward()"))
    assert any(save in frame for frame in ddpscope.frames(finding, 0))
    waiting = [step for step in finding["evidence"] if step["rank"] != 0]
    assert len(waiting) == ranks - 1 and all("its host waits for it" in step["detail"] for step in waiting)
    if how == "barrier":  # of the last save they wait in the all-reduce behind the loop
        for rank in range(1, ranks):
            assert any(waits in frame for frame in ddpscope.frames(finding, rank))


@pytest.mark.parametrize("how, pace", [("barrier", 0), ("thread", PACE), *(pytest.param(how, PACE, marks=pytest.mark.long) for how in ("process", "shards")),
                                       ("evaluation", PACE)])
def test_nobody_waits_for_a_save(tmp_path, how, pace):
    trace = run(tmp_path, 2, how, pace)
    jobs.expect_nothing_found(trace, 2, jobs.SAMPLES | jobs.FILES)
    assert not any("slow-checkpoint" in row["unjudged"] for row in ddpscope.report(trace)["coverage"]), "it is judged"
