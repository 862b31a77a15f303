"""A rank does not come any more, or with too much; NCCL's watchdog ends the job after some seconds."""
import argparse
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--how", choices=["sleeps", "leaves", "gathers", "no"], default="no")
parser.add_argument("--rank", type=int, default=1)
parser.add_argument("--at", type=int, default=4)
parser.add_argument("--steps", type=int, default=6)
parser.add_argument("--timeout", type=int, default=20)
args = parser.parse_args()

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl", timeout=timedelta(seconds=args.timeout))
rank = dist.get_rank()
weight = torch.zeros(64, device="cuda")
for step in range(args.steps):
    if rank == args.rank and step == args.at and args.how == "sleeps":
        time.sleep(600)  # an input that never comes
    if rank == args.rank and step == args.at and args.how == "leaves":
        sys.exit(0)
    gradient = torch.randn(64, device="cuda")
    dist.all_reduce(gradient)
    weight -= 0.1 * gradient
    loss = weight.square().mean().item()
    count = 5 if rank == args.rank and step == args.at and args.how == "gathers" else 4
    metrics = [torch.empty(count, device="cuda") for _ in range(dist.get_world_size())]
    dist.all_gather(metrics, torch.randn(count, device="cuda"))
print(f"rank {rank} loss {loss:.4f}")
dist.destroy_process_group()
