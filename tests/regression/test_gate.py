"""The script of docs/ci.md and the workflow of README.md, as they stand there, in a repository whose job is the reference trainer."""
import os
import pathlib
import re
import subprocess

import ddpscope
import pytest
import yaml

DOCS = pathlib.Path(__file__).parents[2] / "docs"
TRAINER = ddpscope.BUILD / "bin/reference_trainer"

FAULTS = ["skipped-barrier/preparation", "duplicate-checkpoint-write/all", "unsharded-sampler/no-sampler",
          "redundant-accumulation-sync/every-micro-batch"]
TWINS = ["nested-barrier", "frequent-checkpoint", "sharded-checkpoint", "padded-sampler", "memory-mapped", "tensor-parallel"]


def of_ci_page(pattern):
    return re.search(pattern, (DOCS / "ci.md").read_text(), re.S)[1]


def script():
    return of_ci_page(r"<!-- gate: begin -->\n```sh\n(.*?)```\n<!-- gate: end -->")


@pytest.fixture
def repository(tmp_path):
    """That of somebody who trains; `gate(what the job does)` runs its gate."""
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci/ddpscope.json").write_text('{"schema": 1, "findings": []}')
    (tmp_path / "ci/gate.sh").write_text(script())
    environment = {**os.environ, "PATH": f"{ddpscope.BUILD / 'bin'}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": "summary.md"}

    def run(*command):
        return subprocess.run(command, cwd=tmp_path, text=True, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment)

    def train(*arguments, ranks=4):
        job = tmp_path / "train"
        job.write_text(f"#!/bin/sh\nexec {TRAINER} --ranks {ranks} --epochs 2 --timeout 3 {' '.join(map(str, arguments))} \"$@\"\n")
        job.chmod(0o755)

    def gate(*arguments, **options):
        train(*arguments, **options)
        return run("bash", "-e", "ci/gate.sh")  # -e: as GitHub runs what stands in a workflow
    gate.folder, gate.run, gate.train = tmp_path, run, train
    return gate


@pytest.mark.parametrize("fault", FAULTS)
def test_it_turns_red(repository, fault):
    done = repository("--fault", fault)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f": {fault.split('/')[0]} (" in done.stdout
    for name in ("ddpscope.sarif", "ddpscope.xml", "ddpscope.html", "summary.md"):
        assert fault.split("/")[0] in (repository.folder / name).read_text()


@pytest.mark.parametrize("twin", [None, *TWINS])
def test_it_stays_green(repository, twin):
    done = repository(*(["--twin", twin] if twin else []))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_bug_that_is_known_stays_green_and_another_one_does_not(repository):
    repository("--fault", FAULTS[1])
    made = repository.run("bash", "-e", "-c", of_ci_page(r"`(ddpscope report [^`]* -o ci/ddpscope.json)`"))
    assert made.returncode == 0 and made.stderr == "", made.stderr
    assert repository("--fault", FAULTS[1]).returncode == 0, "the same bug, in another run of the same job"
    assert repository("--fault", FAULTS[2]).returncode == 1


def test_it_runs_again_where_it_ran(repository):
    for _ in range(2):
        done = repository()
        assert done.returncode == 0 and "holds traces" not in done.stderr, done.stdout + done.stderr


def test_a_job_that_fails_without_a_finding_is_not_green(repository):
    done = repository("--no-such-option")
    assert done.returncode not in (0, 1), done.stdout + done.stderr
    (repository.folder / "train").write_text(f"#!/bin/sh\n{TRAINER} --ranks 2 --epochs 1\nexit 7\n")
    done = repository.run("bash", "-e", "ci/gate.sh")
    assert done.returncode == 7 and "nothing found" in done.stdout, done.stdout + done.stderr


def test_without_a_baseline_it_says_once_how_to_make_one_and_starts_nothing(repository):
    (repository.folder / "ci/ddpscope.json").unlink()
    done = repository()
    assert done.returncode == 2 and not (repository.folder / "trace").exists(), done.stdout + done.stderr
    assert done.stderr.count("ci/ddpscope.json, what is known already, is missing") == 1 and "error:" not in done.stderr
    assert repository.run("bash", "-e", "-c", done.stderr.splitlines()[1]).returncode == 0
    done = repository()
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_job_that_hangs_is_ended_and_reported_on(repository):
    gate = repository.folder / "ci/gate.sh"
    limited = re.sub(r"timeout -k \d+ \d+ ", "timeout -k 5 10 ", script())
    assert limited != script()
    gate.write_text(limited)
    done = repository("--fault", "hung-collective/stuck", "--timeout", 100)
    assert done.returncode == 1 and "error: hung-collective" in done.stdout, done.stdout + done.stderr
    assert "hung-collective" in (repository.folder / "ddpscope.xml").read_text()


def test_the_workflow_gives_the_script_time_to_report():
    """`timeout-minutes` ends a step without a report, so the job of the script has to be over before it."""
    minutes = yaml.safe_load(of_ci_page(r"```yaml\n(.*?)```"))["jobs"]["gate"]["timeout-minutes"]
    kill, end = map(int, re.search(r"timeout -k (\d+) (\d+) ddpscope run", script()).groups())
    assert kill + end <= minutes * 60 / 2


def test_suppressions_of_the_page_hold(repository):
    suppression = of_ci_page(r"`(unsharded-sampler \d+-\d+-\d+ [^`]*)`")
    (repository.folder / "ci/suppressions").write_text(re.sub(r"\d+-\d+-\d+", "never", suppression) + "\n")
    gate = repository.folder / "ci/gate.sh"
    gate.write_text(script().replace("--baseline ", "--suppress ci/suppressions --baseline "))
    assert repository("--fault", FAULTS[2]).returncode == 0
    assert repository("--fault", FAULTS[1]).returncode == 1


def steps_of_readme():
    workflow = re.search(r"```yaml\n(.*?)```", (DOCS.parent / "README.md").read_text(), re.S)[1]
    steps = [step["run"] for step in yaml.safe_load(workflow)["jobs"]["ddpscope"]["steps"] if "run" in step]
    return [step for step in steps if not step.startswith("apt-get ")], re.search(r"# once: (ddpscope export .*)", workflow)[1]


def test_the_workflow_of_the_readme_is_green_twice_and_turns_red(repository):
    steps, once = steps_of_readme()
    assert len(steps) == 3, steps

    def codes():
        """Of the steps up to the first that fails."""
        found = []
        for step in steps:
            done = repository.run("bash", "-e", "-c", step)
            assert "holds traces" not in done.stderr, done.stderr
            found.append(done.returncode)
            if done.returncode:
                break
            if len(found) == 1 and not (repository.folder / "ci/expected.json").exists():
                assert repository.run("bash", "-e", "-c", once).returncode == 0
        return found

    repository.train()
    assert codes() == [0, 0, 0]
    assert codes() == [0, 0, 0]
    repository.train("--fault", FAULTS[3])
    assert codes() == [0, 1]
    repository.train("--fault", FAULTS[0])
    assert codes() == [1]
