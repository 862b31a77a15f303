"""Which tests of this folder run: each case at one of its rank counts, and those marked `long` only in tests/run.sh --long."""
import os
import pathlib

import pytest
import rank_counts

pytest_collection_modifyitems = rank_counts.one_in_turn(pathlib.Path(__file__).parent)
LONG = os.environ.get("DDPSCOPE_RANKS") == "all"


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes long, or says little that another test does not")


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    if not LONG and item.get_closest_marker("long"):
        item.add_marker(pytest.mark.skip(reason="only in tests/run.sh --long torch-cuda"))
