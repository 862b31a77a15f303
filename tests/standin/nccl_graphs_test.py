"""Collectives of the stand-in NCCL that are captured into CUDA graphs."""

import pytest

from nccl_test import run  # noqa: F401  (a fixture)

SCENARIOS = ["each-launch-communicates", "order", "groups-and-forks", "half-captured", "outlives", "a-launch-less"]


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_collectives_in_graphs(run, scenario, size):  # noqa: F811
    codes, errors = run(size, "nccl_graphs", scenario)
    assert codes == [0] * size, "".join(errors)
