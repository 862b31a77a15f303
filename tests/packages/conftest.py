"""Which tests of this folder run: each case at one of its rank counts, and those marked `long` only in tests/run.sh --long."""
import pathlib

import pytorch_end
import rank_counts

pytest_runtest_protocol = pytorch_end.pytest_runtest_protocol
pytest_configure = rank_counts.know_long
pytest_collection_modifyitems = rank_counts.one_in_turn(pathlib.Path(__file__).parent)
