"""Rank 0 waits for an all-reduce; the last rank has issued one of another size, and computes. No framework, by ctypes."""
import ctypes
import os

from nccl_by_ctypes import exchange_id, load

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FLOAT, SUM = 7, 0  # of nccl.h

cuda, nccl = ctypes.CDLL("libcudart.so.13"), load()
assert cuda.cudaSetDevice(RANK) == 0
unique_id = exchange_id(nccl, RANK)
communicator, memory = ctypes.c_void_p(), ctypes.c_void_p()
assert nccl.ncclCommInitRank(ctypes.byref(communicator), WORLD, unique_id, RANK) == 0
assert cuda.cudaMalloc(ctypes.byref(memory), 4096) == 0
for count in [64] * 20 + [96 if RANK == WORLD - 1 else 64]:
    assert nccl.ncclAllReduce(memory, memory, count, FLOAT, SUM, communicator, None) == 0
    if count == 64:
        assert cuda.cudaDeviceSynchronize() == 0
while True:
    sum(range(100_000))
