"""At which rank counts the tests of this folder run."""
import pathlib

import rank_counts

pytest_collection_modifyitems = rank_counts.smallest_and_largest(pathlib.Path(__file__).parent)
