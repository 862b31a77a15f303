"""What the trainer answers without training."""

import json
import subprocess

import pytest

from trainer_job import TRAINER, environment


def ask(*flags):
    return subprocess.run([TRAINER, *flags], env=environment(), capture_output=True, text=True, timeout=30)


def test_the_table_of_faults_names_each_finding():
    rows = [line.split("\t") for line in ask("--list-faults").stdout.splitlines()]
    faults = {row[1]: row for row in rows if row[0] == "fault"}
    assert all(len(row) == 5 for row in rows)
    assert all(row[2] == name.split("/")[0] for name, row in faults.items())
    slugs = {row[2] for row in faults.values()}
    twins = {row[2] for row in rows if row[0] == "twin"}
    assert slugs <= twins, "each fault has a healthy look-alike"
    assert twins - slugs == {"slow-checkpoint"}, "of which the fault is the disk that tests/e2e/test_slow_checkpoint.py mounts"


def test_the_table_as_json_says_the_same():
    table = json.loads(ask("--list-faults", "--json").stdout)
    rows = [line.split("\t") for line in ask("--list-faults").stdout.splitlines()]
    assert [["fault", f["name"], f["finding"], f["unit"], f["sentence"]] for f in table["faults"]] + [
        ["twin", t["name"], t["of"], "-", t["sentence"]] for t in table["twins"]
    ] == rows


@pytest.mark.parametrize(
    "flags",
    [
        ("--fault", "no-such-fault"),
        ("--twin", "no-such-twin"),
        ("--fault", "skipped-barrier", "--twin", "nested-barrier"),
        ("--width", "20"),
        ("--fault-rank", "-1"),
        ("--batch", "0"),
        ("--no-such-flag",),
    ],
)
def test_bad_arguments_get_one_line(flags):
    done = ask(*flags)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_a_fault_on_a_rank_that_is_not_there_is_refused():
    done = ask("--ranks", "2", "--fault", "hung-collective/exit", "--fault-rank", "2")
    assert done.returncode == 2
    assert "error: --fault-rank 2 is none of 2 ranks" in done.stderr.splitlines()
