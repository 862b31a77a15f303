"""What NCCL 2.29 to 2.32 brought, in the stand-in NCCL."""

import pytest

from nccl_test import run  # noqa: F401  (a fixture)

SCENARIOS = ["grows", "grows-wrongly", "rests", "puts", "signals", "puts-wrongly", "waits-in-vain", "settings",
             "parameters", "properties", "encryption", "peers-memory"]


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_newer_functions(run, scenario, size):  # noqa: F811
    codes, errors = run(size, "nccl_newer", scenario)
    assert codes == [0] * size, "".join(errors)
