"""A job on mpi4py as its users write it: arrays and pickled objects; `skip`: rank 1 leaves a barrier out."""
import sys

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
weights = numpy.zeros(4096)
for epoch in range(4):
    for step in range(5):
        gradients = numpy.full_like(weights, world.rank)
        world.Allreduce(MPI.IN_PLACE, gradients)
        weights -= gradients / world.size
    seen = world.allgather({"rank": world.rank, "note": "x" * world.rank})
    world.bcast(seen if world.rank == 0 else None)
    world.Ibarrier().Wait()
    if "skip" not in sys.argv or epoch != 2 or world.rank != 1:
        world.Barrier()  # before the next epoch
if world.rank == 0:
    print("weights", weights[0], flush=True)
