"""late_member.py SECONDS: all ranks make one communicator of NCCL together; the last rank comes so much later. No framework, by ctypes."""
import ctypes
import os
import sys
import time

from nccl_by_ctypes import exchange_id, load

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

nccl = load()
unique_id = exchange_id(nccl, RANK)
if RANK == WORLD - 1:
    time.sleep(float(sys.argv[1]))
communicator = ctypes.c_void_p()
assert nccl.ncclCommInitRank(ctypes.byref(communicator), WORLD, unique_id, RANK) == 0
print("made by rank", RANK)
