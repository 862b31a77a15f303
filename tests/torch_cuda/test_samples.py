"""Which samples ranks train on: PyTorch jobs on NCCL whose loaders do not split them, or forget set_epoch()."""
import ddpscope
import numpy as np
import pytest
from nccl_jobs import SAMPLES, Job, expect_finding, expect_nothing_found, not_checked, record

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
both = pytest.mark.parametrize("ranks", [2, 4])
mostly = pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])


def clips(seed, sampler, ranks):
    """The job, and what makes its corpus."""
    rng = ddpscope.draw(seed, f"cuda/clips/{sampler}/{ranks}")
    count, length = ranks * 4 * rng.randrange(8, 12), rng.randrange(300, 900)

    def make(folder):
        (folder / "corpus" / "wavs").mkdir(parents=True)
        noise = np.random.default_rng(seed)
        names = [f"clip{number:05d}.raw" for number in sorted(noise.choice(100_000, count, replace=False))]
        (folder / "corpus" / "metadata.csv").write_text("".join(f"{name}|{i % 4}\n" for i, name in enumerate(names)))
        for name in names:
            noise.integers(-3000, 3000, length).astype(np.int16).tofile(folder / "corpus" / "wavs" / name)

    return Job("clip_files.py", ["corpus", "--sampler", sampler, "--workers", rng.choice([0, 1, 2])], ranks), make


@mostly
@pytest.mark.parametrize("sampler, slug", [("none", "unsharded-sampler"), ("no-set-epoch", "repeated-epoch-order")])
def test_files_that_are_not_split_or_come_in_one_order(tmp_path, ranks, sampler, slug, seed):
    job, make_data = clips(seed, sampler, ranks)
    trace = record(job, tmp_path, make_data=make_data)
    expect_finding(trace, slug, range(ranks), job.script, "np.fromfile(")


@mostly
def test_files_that_are_split(tmp_path, ranks, seed):
    job, make_data = clips(seed, "distributed", ranks)
    report = expect_nothing_found(record(job, tmp_path, make_data=make_data), ranks)
    assert not SAMPLES & set(not_checked(report)), report["coverage"]


def windows(seed, ranks, *arguments):
    rng = ddpscope.draw(seed, f"cuda/windows/{arguments}/{ranks}")
    job = Job("token_windows.py", ["train.bin", "--batch-size", rng.randrange(3, 6), "--block-size", 8 * rng.randrange(4, 7),  # 64 distinct words at least
                                   *arguments], ranks)
    return job, lambda folder: np.random.default_rng(seed).integers(0, 256, 5000).astype(np.uint16).tofile(folder / "train.bin")


@mostly
def test_windows_of_a_mapped_file_drawn_with_one_seed(tmp_path, ranks, seed):
    job, make_data = windows(seed, ranks, "--same-seed")
    expect_finding(record(job, tmp_path, make_data=make_data), "unsharded-sampler", range(ranks), job.script)


@pytest.mark.long
@mostly
def test_windows_of_a_mapped_file_drawn_by_rank(tmp_path, ranks, seed):
    job, make_data = windows(seed, ranks)
    expect_nothing_found(record(job, tmp_path, make_data=make_data), ranks)


def table(seed, ranks, *arguments):
    rng = ddpscope.draw(seed, f"cuda/table/{arguments}/{ranks}")
    return Job("table_in_memory.py", ["--rows", 8 * ranks * rng.randrange(6, 10), "--epochs", rng.randrange(3, 5), *arguments], ranks,
               launcher="loop")


@both
def test_rows_in_memory_that_are_not_split(tmp_path, ranks, seed):
    job = table(seed, ranks, "--split", "nobody")
    expect_finding(record(job, tmp_path), "unsharded-sampler", range(ranks), job.script)


@mostly
def test_rows_in_memory_in_one_order(tmp_path, ranks, seed):
    """The loader asks its workers for rows by number, whatever each rank makes of them."""
    job = table(seed, ranks, "--split", "once", "--noise", 0.1, "--workers", 1 + seed % 2, "--rows", 8 * ranks * 30)
    expect_finding(record(job, tmp_path), "repeated-epoch-order", range(ranks), job.script, "for inputs, wanted in batches:")


@mostly
def test_rows_in_memory_that_are_shuffled_anew(tmp_path, ranks, seed):
    """The sampler of the evaluation behind each epoch does not learn which one it is."""
    job = table(seed, ranks, "--workers", 1 + seed % 2, "--rows", 8 * ranks * 30, "--validate")
    report = expect_nothing_found(record(job, tmp_path), ranks)
    assert "repeated-epoch-order" not in not_checked(report), report["coverage"]


@both
@pytest.mark.long
@pytest.mark.parametrize("slug, arguments", [("repeated-epoch-order", ["--split", "once"]),
                                             ("unsharded-sampler", ["--split", "nobody", "--noise", 0.1])])
def test_what_rows_in_memory_hide_is_found_or_not_checked(tmp_path, ranks, slug, arguments, seed):
    """Nobody reads them, or each rank changes them: then coverage says that the samples could not be compared."""
    job = table(seed, ranks, *arguments)
    report = ddpscope.report(record(job, tmp_path))
    found = {finding["slug"] for finding in report["findings"]}
    assert found in ({slug}, set()), report["findings"]
    assert found or slug in not_checked(report), report["coverage"]


@both
@pytest.mark.long
def test_rows_in_memory_that_are_split(tmp_path, ranks, seed):
    expect_nothing_found(record(table(seed, ranks), tmp_path), ranks)
