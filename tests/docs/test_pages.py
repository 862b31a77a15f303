"""What counts as the same output, and what as a command."""
import pages
import pytest

SHOWN = "error: straggler (likely)\n  rank 1 is late at train.py:88 prepare,\n  12 ms a step (node1:4711)\n  …\n  fix  read ahead\n"


@pytest.mark.parametrize("printed, same", [
    ("error: straggler (likely)\n  rank 3 is late at train.py:88\n  prepare, 0.5 ms a step (vm:9)\n  x\n  y\n  fix  read ahead\n", True),
    ("error: straggler (likely)\n  rank 1 is late at train.py:89 prepare,\n  12 ms a step (node1:4711)\n  fix  read ahead\n", False),
    ("error: straggler (likely)\n  rank 1 is late at train.py:88 prepare,\n  12 ms a step (node1:4711)\n  fix  wait\n", False),
    ("warning: straggler (likely)\n  rank 1 is late at train.py:88 prepare,\n  12 ms a step (node1:4711)\n  fix  read ahead\n", False),
])
def test_words_count_and_numbers_do_not(printed, same):
    assert pages.agrees(SHOWN, printed) == same


def block(body, kind="console"):
    return pages.Block("page.md", 1, kind, body, 0, "")


def test_a_block_is_commands_with_what_they_print():
    first, second = pages.commands(block("$ a \\\n    b    # exit code 2\nx\n\ny\n$ c\n"))
    assert (first.text, first.code, first.shown) == ("a \\\n    b    # exit code 2", 2, "x\n\ny\n")
    assert (second.text, second.code, second.shown) == ("c", 0, "")
    with pytest.raises(AssertionError, match="output without a command"):
        list(pages.commands(block("x\n$ a\n")))


@pytest.mark.parametrize("body, looks", [
    ("$ anything\n", True), ("  ddpscope report TRACE\n", True), ("cmake --preset dev\n", True), ("x\nbash tests/run.sh\n", True),
    ("ddpscope: 4 ranks, 4 processes\n", False), ("  by train.py:88 main\n", False), ("pipe\n", False),
])
def test_what_looks_like_a_command(body, looks):
    assert bool(pages.LOOKS_LIKE_A_COMMAND.search(body)) == looks
