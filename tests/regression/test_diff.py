"""`ddpscope diff` of real runs: quiet between runs of one job, however they are dealt, and not between a job and a worse one."""
import json
import random
import subprocess

import ddpscope
import pytest

TRAINER = ddpscope.BUILD / "bin/reference_trainer"
RUNS, PAIRS, REPEATS = 20, 50, 5


def diff(base, now, *options):
    done = subprocess.run([str(word) for word in (ddpscope.DDPSCOPE, "diff", base, now, *options)], text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done


def summarise(folder, name, *arguments):
    """Runs the trainer once; returns the summary's file."""
    trace, summary = folder / f"{name}.trace", folder / f"{name}.json"
    ddpscope.record([TRAINER, "--ranks", 2, "--epochs", 2, "--samples", 256, "--workdir", folder / "out", *arguments], trace, folder,
                    cpu=True)
    subprocess.run([ddpscope.DDPSCOPE, "export", trace, "--format", "summary", "-o", summary], check=True)
    return summary


def folder_of(folder, name, files):
    (folder / name).mkdir()
    for file in files:
        (folder / name / file.name).symlink_to(file)
    return folder / name


@pytest.fixture(scope="module")
def same(tmp_path_factory):
    folder = tmp_path_factory.mktemp("same")
    return [summarise(folder, f"run{run}") for run in range(RUNS)]


def test_pairs_of_runs_of_one_job_are_no_regression(same):
    rng = random.Random(1)
    for _ in range(PAIRS):
        base, now = rng.sample(same, 2)
        done = diff(base, now)
        assert done.returncode == 0 and "no regression" in done.stdout, done.stdout


def test_pairs_of_repeated_runs_of_one_job_are_no_regression(same, tmp_path):
    rng = random.Random(2)
    for pair in range(PAIRS):
        dealt = rng.sample(same, 2 * REPEATS)
        base, now = (folder_of(tmp_path, f"{side}{pair}", files) for side, files in
                     (("base", dealt[:REPEATS]), ("new", dealt[REPEATS:])))
        done = diff(base, now)
        assert done.returncode == 0, done.stdout


def test_a_job_that_reduces_more_often_and_says_so_is_one(same, tmp_path):
    worse = summarise(tmp_path, "worse", "--fault", "redundant-accumulation-sync/every-micro-batch")
    done = diff(same[0], worse, "--format", "json")
    told = json.loads(done.stdout)
    assert done.returncode == 1 and told["regression"] and told["more_issued"]
    assert [row["slug"] for row in told["new"]] == ["redundant-accumulation-sync"]
    better = json.loads(diff(worse, same[0], "--format", "json").stdout)
    assert not better["regression"] and [row["slug"] for row in better["gone"]] == ["redundant-accumulation-sync"]


def test_a_job_whose_steps_take_much_longer_is_one(same, tmp_path):
    slow = [summarise(tmp_path, f"slow{run}", "--layers", 12, "--width", 256, "--bucket-bytes", 100_000_000)
            for run in range(REPEATS)]
    told = json.loads(diff(folder_of(tmp_path, "base", same[:REPEATS]), folder_of(tmp_path, "new", slow), "--format", "json").stdout)
    (step,) = [row for row in told["durations"] if row["what"] == "step"]
    assert step["slower"] and step["base_runs"] == step["new_runs"] == REPEATS and step["chance"] < 0.01


def test_a_folder_of_a_trace_and_its_summary_say_the_same(same):
    assert diff(same[0].with_suffix(".trace"), same[0]).returncode == 0
    assert "not judged" in diff(same[0], same[1]).stdout, "of one run each"


@pytest.mark.parametrize("content, says", [("x", "it is not JSON"), ('{"schema": 7}', "no schema 1"), ('{"schema": 1}', "no summary")])
def test_what_is_no_summary_is_told(same, tmp_path, content, says):
    wrong = tmp_path / "wrong.json"
    wrong.write_text(content)
    done = diff(same[0], wrong)
    assert done.returncode == 2 and says in done.stderr and str(wrong) in done.stderr and done.stdout == ""


def test_nothing_there_is_told(same, tmp_path):
    assert "there is no such file" in diff(same[0], tmp_path / "none").stderr
    (tmp_path / "empty").mkdir()
    assert diff(same[0], tmp_path / "empty").returncode == 2
    merged = tmp_path / "merged"
    subprocess.run([ddpscope.DDPSCOPE, "export", same[0].with_suffix(".trace"), "--format", "merged", "-o", merged], check=True)
    assert "a merged file has no summary" in diff(same[0], merged).stderr


def test_a_summary_is_a_baseline(same, tmp_path):
    worse = summarise(tmp_path, "worse", "--fault", "duplicate-checkpoint-write/all")
    report = [ddpscope.DDPSCOPE, "report", worse.with_suffix(".trace")]
    assert subprocess.run([*report, "--baseline", worse], stdout=subprocess.DEVNULL).returncode == 0
    assert subprocess.run([*report, "--baseline", same[0]], stdout=subprocess.DEVNULL).returncode == 1
