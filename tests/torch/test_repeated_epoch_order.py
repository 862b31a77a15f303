"""A DistributedSampler that nobody tells the epoch: found by the order in which each rank reads its clips."""
import ddpscope
import pytest
from jobs import SAMPLES, SCRIPTS, Job, expect_nothing_found, make_clips, run_recorded

every_seed = pytest.mark.parametrize("seed", ddpscope.SEEDS)
# Workers that start anew in each epoch, that stay, and none.
NAMED = {"itself": ["--workers", 0], "workers": ["--workers", 2], "persistent": ["--workers", 2, "--persistent"]}


def loaders(*always):
    return pytest.mark.parametrize("loader", [pytest.param(loader, id=name, marks=() if name in always else pytest.mark.long)
                                              for name, loader in NAMED.items()])


def draw_job(seed, name, order):
    rng = ddpscope.draw(seed, name)
    ranks = rng.choice([2, 3, 4])
    clips, samples = ranks * 4 * rng.randrange(12, 20), rng.randrange(300, 900)
    job = Job("keyword_spotting.py", ranks=ranks, arguments=["corpus", "--order", order, "--epochs", rng.choice([2, 3])])
    return job, lambda folder: make_clips(folder / "corpus", clips, samples, seed)


@every_seed
@loaders("persistent")
def test_no_set_epoch(tmp_path, loader, seed):
    job, make_data = draw_job(seed, f"no-set-epoch/{loader}", "shuffled")
    job.arguments += loader
    finding = ddpscope.only_finding(run_recorded(job, tmp_path, make_data=make_data), "repeated-epoch-order")
    assert finding["ranks"] == list(range(job.ranks)) and finding["severity"] == "warning"
    line = ddpscope.line_of(SCRIPTS / "keyword_spotting.py", "np.fromfile(")
    for rank in range(job.ranks):
        before, again = [step for step in finding["evidence"] if step["rank"] == rank]
        assert "corpus/wavs/clip" in before["file"] and before["file"] == again["file"]
        for step in before, again:
            assert any(f"keyword_spotting.py:{line} Keywords.load" in frame for frame in step["stack"]), step


@every_seed
@loaders("persistent")
def test_set_epoch(tmp_path, loader, seed):
    job, make_data = draw_job(seed, f"set-epoch/{loader}", "reshuffled")
    job.arguments += loader
    expect_nothing_found(run_recorded(job, tmp_path, make_data=make_data), job.ranks)


@every_seed
@loaders("workers")
def test_no_shuffle(tmp_path, loader, seed):
    """A sequential pass is repeated on purpose."""
    job, make_data = draw_job(seed, f"as-listed/{loader}", "as-listed")
    job.arguments += loader
    expect_nothing_found(run_recorded(job, tmp_path, make_data=make_data), job.ranks, SAMPLES)
