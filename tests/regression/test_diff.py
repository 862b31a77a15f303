"""`ddpscope diff` of real runs: quiet between runs of one job, however they are dealt, and not between a job and a worse one."""
import json
import random
import re
import shutil
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


def forms_of(summary, folder):
    """One run as a trace's folder, as its summary, as a merged file and as the summary of that."""
    trace, merged, again = summary.with_suffix(".trace"), folder / f"{summary.stem}.merged", folder / f"{summary.stem}.again"
    for of, format, file in ((trace, "merged", merged), (merged, "summary", again)):
        if not file.exists():
            subprocess.run([ddpscope.DDPSCOPE, "export", of, "--format", format, "-o", file], check=True)
    assert again.read_text() == summary.read_text()
    return [trace, summary, merged, again]


@pytest.mark.parametrize("format", ["text", "json"])
def test_every_form_of_a_run_says_the_same(same, tmp_path, format):
    worse = summarise(tmp_path, "worse", "--fault", "redundant-accumulation-sync/every-micro-batch")
    told = set()
    for base, now in zip(forms_of(same[0], tmp_path), reversed(forms_of(worse, tmp_path))):
        for pair in ((base, worse), (same[0], now), (base, now)):
            done = diff(*pair, "--format", format)
            assert done.returncode == 1 and done.stderr == "", done.stderr
            told.add(done.stdout)
    assert len(told) == 1
    for form in forms_of(same[0], tmp_path):
        assert diff(form, same[0]).returncode == 0


def test_a_folder_of_runs_takes_each_of_them_in_another_form(same, tmp_path):
    mixed, plain = tmp_path / "mixed", folder_of(tmp_path, "plain", same[:3])
    mixed.mkdir()
    for number, run in enumerate(same[:3]):
        (mixed / f"{number}").symlink_to(forms_of(run, tmp_path)[number])
    assert diff(mixed, same[3]).stdout == diff(plain, same[3]).stdout
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


def assert_refused(base, wrong, says):
    for pair in ((base, wrong), (wrong, base)):
        done = diff(*pair)
        assert done.returncode == 2 and done.stdout == "" and says in done.stderr and str(wrong) in done.stderr, done.stderr
        assert len(re.findall("^error: ", done.stderr, re.M)) == 1


def test_damaged_merged_files_are_told(same, tmp_path):
    merged = forms_of(same[0], tmp_path)[2]
    content = merged.read_bytes()
    wrong = tmp_path / "wrong"
    # 8: the version, 40: the table's checksum (collector/merged/format.h)
    for at, says in ((8, "has version 255"), (40, "is damaged")):
        wrong.write_bytes(content[:at] + b"\xff" + content[at + 1:])
        assert_refused(same[0], wrong, says)
    for cut in (20, 4096, len(content) - 1):
        wrong.write_bytes(content[:cut])
        assert_refused(same[0], wrong, "cut off")
    wrong.write_bytes(b"\x7fELF" + content)
    assert_refused(same[0], wrong, "it is not JSON")


def test_a_run_that_was_read_in_part_is_refused_in_every_form(same, tmp_path):
    trace, merged = tmp_path / "trace", tmp_path / "merged"
    shutil.copytree(same[0].with_suffix(".trace"), trace)
    file = max(trace.glob("*.ddps"), key=lambda file: file.stat().st_size)
    file.write_bytes(file.read_bytes()[:-4096])
    made = subprocess.run([ddpscope.DDPSCOPE, "export", trace, "--format", "merged", "-o", merged], capture_output=True, text=True)
    assert made.returncode == 2 and merged.exists()
    told = [diff(same[0], form).stderr for form in (trace, merged)]
    assert told[0] == told[1] and file.name in told[0] and diff(merged, same[0]).returncode == 2
    summary = [ddpscope.DDPSCOPE, "export", merged, "--format", "summary", "-o", tmp_path / "none"]
    assert subprocess.run(summary, capture_output=True).returncode == 2 and not (tmp_path / "none").exists()


def test_a_summary_is_a_baseline(same, tmp_path):
    worse = summarise(tmp_path, "worse", "--fault", "duplicate-checkpoint-write/all")
    report = [ddpscope.DDPSCOPE, "report", worse.with_suffix(".trace")]
    assert subprocess.run([*report, "--baseline", worse], stdout=subprocess.DEVNULL).returncode == 0
    assert subprocess.run([*report, "--baseline", same[0]], stdout=subprocess.DEVNULL).returncode == 1
