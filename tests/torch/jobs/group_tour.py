"""Tries out torch.distributed on a new cluster: every collective once, two groups, and a second process group.

RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT: as a launcher sets them. Two ranks.
"""
import os

import torch
import torch.distributed as dist

kept = []  # a thread of Gloo must never hold the last reference to a tensor


def keep(tensor):
    kept.append(tensor)
    return tensor


def tour(rank):
    numbers = keep(torch.arange(6, dtype=torch.float32).reshape(2, 3) + rank)
    counts = keep(torch.tensor([rank, 7, 9]))
    dist.all_reduce(numbers)  # sum
    dist.all_reduce(counts, op=dist.ReduceOp.MAX)  # largest
    work = dist.all_reduce(numbers, async_op=True)  # in the background
    numbers_seen = counts.sum()
    work.wait()  # the background ends
    dist.broadcast(counts, src=1)  # from rank 1
    dist.reduce(numbers, dst=1, op=dist.ReduceOp.PRODUCT)  # product
    pieces = [keep(torch.empty(4, dtype=torch.float64)) for _ in range(2)]
    dist.all_gather(pieces, keep(torch.full((4,), rank, dtype=torch.float64)))  # pieces
    gathered = [keep(torch.empty(5, dtype=torch.int32)) for _ in range(2)]
    dist.gather(keep(torch.ones(5, dtype=torch.int32)), gathered if rank == 0 else None, dst=0)  # gathered
    shares = [keep(torch.ones(1, 2, 3, dtype=torch.float16)) for _ in range(2)]
    dist.scatter(keep(torch.empty(1, 2, 3, dtype=torch.float16)), shares if rank == 0 else None, src=0)  # scattered
    dist.all_to_all_single(keep(torch.empty(8, dtype=torch.int8)), keep(torch.ones(8, dtype=torch.int8)))  # exchanged
    if rank == 0:
        dist.send(keep(torch.ones(3)), dst=1, tag=5)  # sent
    else:
        dist.recv(keep(torch.empty(3)), src=0, tag=5)  # received
    dist.monitored_barrier()  # monitored
    last = dist.new_group([1])
    if rank == 1:
        dist.all_reduce(counts, group=last)  # alone
    pair = dist.new_group([0, 1])
    dist.barrier(group=pair)  # of the pair
    dist.destroy_process_group(pair)
    dist.barrier()  # the last one
    return numbers_seen


def main():
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo")
    seen = tour(rank)
    dist.destroy_process_group()
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{os.environ['SECOND_PORT']}", rank=rank, world_size=2)
    dist.all_reduce(keep(torch.ones(10)))  # again
    print(f"rank {rank}: loss {seen.item()}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
