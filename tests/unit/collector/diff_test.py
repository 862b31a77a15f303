"""`ddpscope diff` of traces that are written down."""

import pytest
from command_line import compile_trace, ddpscope
from report_formats_test import GOLDEN


@pytest.fixture
def golden(tmp_path):
    """The trace of tests/golden/NAME.txt."""
    def compiled(name):
        return compile_trace("let W = 2\n" + (GOLDEN / f"{name}.txt").read_text(), tmp_path / name.replace("/", "-"))
    return compiled


def test_a_finding_that_is_graver_is_a_regression_and_one_that_is_less_grave_is_not(golden):
    warning, error = (golden(f"duplicate-checkpoint-write/{name}") for name in ("speaks-in-turn", "speaks-rename-target"))
    told = ddpscope("diff", warning, error)
    assert told.returncode == 1 and told.stdout.startswith("worse   error: duplicate-checkpoint-write (finding "), told.stdout
    assert "(warning in BASE)" in told.stdout
    told = ddpscope("diff", error, warning)
    assert told.returncode == 0 and told.stdout.startswith("better  warning: duplicate-checkpoint-write (finding "), told.stdout
