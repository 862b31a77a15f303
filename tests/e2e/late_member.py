"""late_member.py SECONDS: all ranks make one communicator of NCCL together; the last rank comes so much later. No framework, by ctypes."""
import ctypes
import os
import pathlib
import sys
import time

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


nccl = ctypes.CDLL("libnccl.so.2")
nccl.ncclCommInitRank.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int]
unique_id, shared = UniqueId(), pathlib.Path("unique-id")
if RANK == 0:
    assert nccl.ncclGetUniqueId(ctypes.byref(unique_id)) == 0
    pathlib.Path("unique-id.part").write_bytes(bytes(unique_id))
    os.rename("unique-id.part", shared)
while not shared.exists():
    time.sleep(0.05)
ctypes.memmove(ctypes.byref(unique_id), shared.read_bytes(), ctypes.sizeof(unique_id))
if RANK == WORLD - 1:
    time.sleep(float(sys.argv[1]))
communicator = ctypes.c_void_p()
assert nccl.ncclCommInitRank(ctypes.byref(communicator), WORLD, unique_id, RANK) == 0
print("made by rank", RANK)
