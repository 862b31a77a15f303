"""Rank 0 waits for an all-reduce; the last rank has issued one of another size, and computes. No framework, by ctypes."""
import ctypes
import os
import pathlib
import time

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FLOAT, SUM = 7, 0  # of nccl.h


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


cuda, nccl = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libnccl.so.2")
nccl.ncclCommInitRank.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int]
nccl.ncclAllReduce.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
                               ctypes.c_void_p]
assert cuda.cudaSetDevice(RANK) == 0
unique_id, shared = UniqueId(), pathlib.Path("unique-id")
if RANK == 0:
    assert nccl.ncclGetUniqueId(ctypes.byref(unique_id)) == 0
    pathlib.Path("unique-id.part").write_bytes(bytes(unique_id))
    os.rename("unique-id.part", shared)
while not shared.exists():
    time.sleep(0.05)
ctypes.memmove(ctypes.byref(unique_id), shared.read_bytes(), ctypes.sizeof(unique_id))
communicator, memory = ctypes.c_void_p(), ctypes.c_void_p()
assert nccl.ncclCommInitRank(ctypes.byref(communicator), WORLD, unique_id, RANK) == 0
assert cuda.cudaMalloc(ctypes.byref(memory), 4096) == 0
for count in [64] * 20 + [96 if RANK == WORLD - 1 else 64]:
    assert nccl.ncclAllReduce(memory, memory, count, FLOAT, SUM, communicator, None) == 0
    if count == 64:
        assert cuda.cudaDeviceSynchronize() == 0
while True:
    sum(range(100_000))
