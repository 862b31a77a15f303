"""Features are computed once and found on every later run: who looks for them, and who waits for whom."""
import argparse
import datetime
import os
import time

import numpy as np
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("--look", choices=["around", "main", "agreed", "own", "until"], default="main",
                    help="around: every rank looks, and those that find nothing wait for rank 0")
parser.add_argument("--late", type=float, default=0, help="seconds that the last rank takes longer")
args = parser.parse_args()

# The default is half an hour. Who goes around the barrier is one collective ahead of the others: if it still finds all its
# files, everybody waits here for somebody until this is over.
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=40))
rank, world = dist.get_rank(), dist.get_world_size()
os.makedirs(args.out, exist_ok=True)
dist.barrier()


def compute(path, seed=0):
    with open(path, "wb") as file:
        np.save(file, np.random.default_rng(seed).normal(size=(64, 8)))


def features():
    path = f"{args.out}/features.npy"
    if args.look == "own":
        path = f"{args.out}/features{rank}.npy"
        if not os.path.exists(path):
            compute(path, rank)
    elif args.look == "main":
        if rank == 0 and not os.path.exists(path):
            compute(path)
        dist.barrier()
    elif args.look == "agreed":
        missing = torch.tensor([float(rank == 0 and not os.path.exists(path))])
        dist.broadcast(missing, 0)
        if missing.item():
            if rank == 0:
                compute(path)
            dist.barrier()
    elif args.look == "until":
        if rank == 0:
            time.sleep(0.3)
            compute(path + ".part")
            os.rename(path + ".part", path)
        while not os.path.exists(path):
            time.sleep(0.05)
    elif not os.path.exists(path):
        if rank == 0:
            time.sleep(0.5)  # a long computation, too: only who comes late finds it
            compute(path)
        dist.barrier()  # of those that look in vain
    return path


if rank == world - 1:
    time.sleep(args.late)
path = features()
statistics = f"{args.out}/statistics.npz"
if rank == 0:
    x = np.load(path)
    time.sleep(0.3)  # it is a long computation: who does not wait comes too early
    np.savez(statistics, mean=x.mean(axis=0))
dist.barrier()
mean = np.load(statistics)["mean"]
x = torch.from_numpy(np.load(path))[rank::world]
loss = ((x - torch.from_numpy(mean)) ** 2).mean()
dist.all_reduce(loss)
if rank == 0:
    print(f"loss {loss.item() / world:.6f}")
dist.barrier()
dist.destroy_process_group()
