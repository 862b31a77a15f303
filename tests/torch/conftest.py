"""At which rank counts the tests of this folder run, and with which PyTorch."""
import pathlib

import pytest
import pytorch_end
import rank_counts
import versions

pytest_runtest_protocol = pytorch_end.pytest_runtest_protocol
pytest_collection_modifyitems = rank_counts.one_in_turn(pathlib.Path(__file__).parent)


def pytest_configure(config):
    rank_counts.know_long(config)
    config.addinivalue_line("markers", "oldest: holds with Debian's PyTorch only")
    config.addinivalue_line("markers", "newest: holds with the newest PyTorch only")


@pytest.fixture(autouse=True)
def pytorch(request):
    versions.python = versions.of_case(request.node)
