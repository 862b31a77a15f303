# Snapshots are written by a forked child, as some async checkpointers do: it inherits the weights as they are.
import argparse
import multiprocessing
import os
import time

import numpy as np
import torch
import torch.distributed as dist

cli = argparse.ArgumentParser()
cli.add_argument("out")
cli.add_argument("--snapshots", type=int, default=2)
cli.add_argument("--join", choices=["before", "after"], default="before", help="the child, and then the barrier; or after it")
cli.add_argument("--late", type=float, default=0)
options = cli.parse_args()
fork = multiprocessing.get_context("fork")


def write(arrays, path):
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def snapshot(weights, path):
    child = fork.Process(target=write, args=({"w": weights.numpy().copy()}, path))
    child.start()
    return child


dist.init_process_group("gloo")
rank = dist.get_rank()
os.makedirs(options.out, exist_ok=True)
weights = torch.ones(4000)
loss = torch.zeros(1)
for number in range(options.snapshots):
    gradient = torch.full_like(weights, float(rank + number))
    dist.all_reduce(gradient)
    weights -= 0.01 * gradient
    loss = weights.square().mean()
    path = os.path.join(options.out, f"snapshot{number}.npz")
    child = snapshot(weights, path) if rank == 0 else None
    if child and options.join == "before":
        child.join()
    dist.barrier()
    if rank:
        time.sleep(options.late)
        weights = torch.from_numpy(np.load(path)["w"])
    if child and options.join == "after":
        child.join()
    dist.barrier()
if rank == 0:
    print(f"loss {loss.item():.6f}")
