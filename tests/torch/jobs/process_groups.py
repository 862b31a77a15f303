"""Trains a small model on Gloo and uses process groups in unusual ways. usage: process_groups.py WAY SECOND_PORT

again: the process group is destroyed in the middle and made anew; reload: Python's modules of PyTorch are imported a
second time; local: the members of a group alone make it; apart: each rank makes a group of itself; objects: Python objects go round
between monitored barriers; some: rank 0 alone makes a group, then all make one, and both wait.
"""
import importlib
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

kept = []  # a thread of Gloo must never hold the last reference to a tensor


def keep(tensor):
    kept.append(tensor)
    return tensor


def train(steps, data):
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        loss = model(torch.randn(8, 16, generator=data)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def second_world(module, rank, world):
    module.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{sys.argv[2]}", rank=rank, world_size=world)


def again(rank, world, data):
    dist.destroy_process_group()
    second_world(dist, rank, world)
    dist.barrier()
    return train(10, data)


def reload(rank, world, data):
    for name in ("torch.optim.optimizer", "torch.optim.sgd", "torch.optim", "torch.nn.parallel.distributed", "torch.nn.parallel"):
        importlib.reload(sys.modules[name])
    global DistributedDataParallel
    DistributedDataParallel = torch.nn.parallel.DistributedDataParallel
    return train(10, data)


def local(rank, world, data):
    halves = [list(range(world // 2)), list(range(world // 2, world))]
    group = dist.new_group(halves[rank >= world // 2], use_local_synchronization=True)
    for _ in range(5):
        dist.all_reduce(keep(torch.ones(7)), group=group)
    if rank == 0:
        dist.all_reduce(keep(torch.ones(9)), group=dist.new_group([0], use_local_synchronization=True))
    return train(5, data)


def apart(rank, world, data):
    own = dist.new_group([rank])
    for _ in range(rank + 1):
        dist.all_reduce(keep(torch.ones(7)), group=own)
    return train(5, data)


def objects(rank, world, data):
    for epoch in range(3):
        dist.monitored_barrier()
        seen = [None] * world
        dist.all_gather_object(seen, {"rank": rank, "lines": ["x"] * (rank + epoch)})
        plan = [seen if rank == 0 else None]
        dist.broadcast_object_list(plan, src=0)
        mine = [None]
        dist.scatter_object_list(mine, [{"part": part} for part in range(world)] if rank == 0 else None, src=0)
        dist.gather_object(mine, [None] * world if rank == 0 else None, dst=0)
        dist.monitored_barrier(wait_all_ranks=True)
    return train(5, data)


def some(rank, world, data):
    if rank == 0:
        dist.new_group([0])  # of rank 0 alone
    if rank == 0:
        pathlib.Path("begun").touch()
    dist.new_group(list(range(world)))  # of all
    return train(5, data)


def main():
    way = sys.argv[1]
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    data = torch.Generator().manual_seed(rank)
    train(5, data)
    loss = {"again": again, "reload": reload, "local": local, "apart": apart, "objects": objects, "some": some}[way](rank, world, data)
    dist.barrier()
    print(f"rank {rank}: loss {loss:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
