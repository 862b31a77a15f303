"""The job of docs/tutorial.md: its bug is found as the page says, and nothing once its fix is applied."""
import shutil
import subprocess

import ddpscope
import pytest
from jobs import SAMPLES, SCRIPTS, Job, expect_nothing_found, run_recorded

TUTORIAL = SCRIPTS.parents[2] / "docs" / "tutorial"


@pytest.fixture
def recipe(tmp_path):
    shutil.copy(TUTORIAL / "recipe.py", tmp_path)
    return tmp_path / "recipe.py"


def test_the_bug_is_found(tmp_path, recipe):
    finding = ddpscope.only_finding(run_recorded(Job(recipe, []), tmp_path, code=1), "divergent-existence-check")
    assert (finding["severity"], finding["confidence"], finding["ranks"]) == ("error", "certain", [0, 1])
    assert finding["consequences"] == ["missing-barrier"]
    shown = {rank: " ".join(ddpscope.frames(finding, rank)) for rank in (0, 1)}
    look, early = (ddpscope.line_of(recipe, text) for text in ("if not os.path.isfile(TEXT)", "with open(PIECES) as"))
    assert all(f"recipe.py:{look} prepare" in frames for frames in shown.values())
    assert f"recipe.py:{early} main" in shown[1]


def test_the_fix_is_silent(tmp_path, recipe):
    with open(TUTORIAL / "fix.diff") as fix:
        subprocess.run(["patch", recipe], stdin=fix, check=True, stdout=subprocess.DEVNULL)
    expect_nothing_found(run_recorded(Job(recipe, []), tmp_path), 2, unjudged=SAMPLES | {"uneven-steps"})
