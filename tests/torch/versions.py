"""With which PyTorch a case's jobs run: most with the newest, every third with Debian's 1.13.

The name of a case decides, so that it always has the same. DDPSCOPE_TORCH=PYTHON: all with that interpreter. Cases marked
`oldest` or `newest` say things that hold there only.
"""
import os
import sys
import zlib

import pytest
import wheel

OLDEST = sys.executable
NEWEST = str(wheel.find() / "bin" / "python") if wheel.find() else None
ASKED = os.environ.get("DDPSCOPE_TORCH")

python = OLDEST  # of the case that runs


def of_case(item):
    """The interpreter of a case; skips the case where there is none."""
    oldest, newest = item.get_closest_marker("oldest"), item.get_closest_marker("newest")
    if ASKED and not oldest:
        return ASKED
    if newest and not NEWEST:
        pytest.skip("no PyTorch 2.15: bash tests/torch_cuda/environment.sh")
    if oldest or not NEWEST:
        return OLDEST
    return NEWEST if newest or zlib.crc32(item.name.encode()) % 3 else OLDEST
