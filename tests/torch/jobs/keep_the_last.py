"""Checkpoint folders as transformers' Trainer makes them: written aside, renamed by one rank, the oldest deleted."""
import argparse
import glob
import os
import re
import shutil

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("output_dir")
parser.add_argument("--saves", type=int, default=4)
parser.add_argument("--save-total-limit", type=int, default=2)
args = parser.parse_args()

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(2)


def checkpoints():
    found = glob.glob(os.path.join(args.output_dir, "checkpoint-*"))
    return sorted(found, key=lambda path: int(re.search(r"(\d+)$", path).group(1)))


def save(step, weights):
    final = os.path.join(args.output_dir, f"checkpoint-{step}")
    staging = os.path.join(args.output_dir, f"tmp-checkpoint-{step}")
    os.makedirs(staging, exist_ok=True)
    torch.save(torch.get_rng_state(), os.path.join(staging, f"rng_state_{rank}.pth"))
    if rank == 0:
        torch.save({"weights": weights, "step": step}, os.path.join(staging, "model.bin"))
    dist.barrier()
    if rank == 0:
        os.rename(staging, final)
    dist.barrier()


def rotate():
    for old in checkpoints()[:-args.save_total_limit]:
        shutil.rmtree(old)


weights = torch.randn(500)
for step in range(1, args.saves + 1):
    gradient = weights * (rank + 1)
    dist.all_reduce(gradient)
    weights -= 0.01 * gradient / world
    loss = weights.square().mean()
    save(step, weights)
    last = checkpoints()[-1]
    state = torch.load(os.path.join(last, "model.bin"))
    torch.set_rng_state(torch.load(os.path.join(last, f"rng_state_{rank}.pth")))
    weights = state["weights"]
    dist.barrier()
    if rank == 0:
        rotate()
    dist.barrier()
if rank == 0:
    print(f"loss {loss.item():.6f}", *(os.path.basename(path) for path in checkpoints()))
