"""At which rank counts the tests of this folder run."""
import pathlib

import rank_counts

pytest_configure = rank_counts.know_long
pytest_collection_modifyitems = rank_counts.one_in_turn(pathlib.Path(__file__).parent)
