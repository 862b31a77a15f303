"""Which tests of this folder run: each case at one of its rank counts, and those marked `long` only in tests/run.sh --long."""
import os
import pathlib

import pytest
import rank_counts

in_turn = rank_counts.one_in_turn(pathlib.Path(__file__).parent)


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes long, or says little that another test does not")


def pytest_collection_modifyitems(config, items):
    if os.environ.get("DDPSCOPE_RANKS") != "all":
        kept = [item for item in items if not item.get_closest_marker("long")]
        if not kept:  # a file of long tests says that it was skipped
            for item in items:
                item.add_marker(pytest.mark.skip(reason="only in tests/run.sh --long torch-cuda"))
            return
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = kept
    in_turn(config, items)
