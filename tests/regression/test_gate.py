"""The script of docs/ci.md, as it stands there, in a repository whose job is the reference trainer."""
import os
import pathlib
import re
import subprocess

import ddpscope
import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"
TRAINER = ddpscope.BUILD / "bin/reference_trainer"

FAULTS = ["skipped-barrier/preparation", "duplicate-checkpoint-write/all", "unsharded-sampler/no-sampler",
          "redundant-accumulation-sync/every-micro-batch"]
TWINS = ["nested-barrier", "frequent-checkpoint", "sharded-checkpoint", "padded-sampler", "memory-mapped", "tensor-parallel"]


def script():
    return re.search(r"<!-- gate: begin -->\n```sh\n(.*?)```\n<!-- gate: end -->", (DOCS / "ci.md").read_text(), re.S)[1]


@pytest.fixture
def repository(tmp_path):
    """That of somebody who trains; `gate(what the job does)` runs its gate."""
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci/ddpscope.json").write_text('{"schema": 1, "findings": []}')
    (tmp_path / "ci/gate.sh").write_text(script())
    path = f"{ddpscope.BUILD / 'bin'}:{os.environ['PATH']}"

    def gate(*arguments, ranks=4):
        job = tmp_path / "train"
        job.write_text(f"#!/bin/sh\nexec {TRAINER} --ranks {ranks} --epochs 2 --timeout 3 {' '.join(arguments)}\n")
        job.chmod(0o755)
        return subprocess.run(["bash", "ci/gate.sh"], cwd=tmp_path, text=True, timeout=120, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": "summary.md"})
    gate.folder = tmp_path
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
    known = subprocess.run([ddpscope.DDPSCOPE, "report", "trace", "--format", "json"], cwd=repository.folder, text=True,
                           stdout=subprocess.PIPE).stdout
    (repository.folder / "ci/ddpscope.json").write_text(known)
    assert repository("--fault", FAULTS[1]).returncode == 0, "the same bug, in another run of the same job"
    assert repository("--fault", FAULTS[2]).returncode == 1
