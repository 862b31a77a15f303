"""A job that hangs: rank 2 broadcasts where the others run a barrier."""
import subprocess

import pytest
from ddpscope import BUILD

SKIPPED = """
for r in 0..2 {
  process r$r rank=$r world=3 pid=${100+r} until=30
  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size=3 device=$r
}
for r in 0..1 {
  r$r 2.000 +0.001 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7 buffer=0x100 stack="data.py:88 prepare"
  r$r 2.002 inside cudaStreamSynchronize stream=0x7
}
r2 1.900 +0.001 ncclBroadcast communicator=1 count=64K datatype=f32 peer=0 stream=0x7 buffer=0x200 stack="train.py:41 load"
r2 1.902 inside cudaStreamSynchronize stream=0x7
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("viewer")
    (folder / "job.txt").write_text(SKIPPED)
    subprocess.run([BUILD / "bin" / "text_trace", folder / "job.txt", folder / "trace"], check=True, timeout=60)
    return folder / "trace"
