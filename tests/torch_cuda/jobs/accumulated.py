"""Gradient accumulation with and without no_sync().

DDP reduces in every backward pass outside of no_sync(); with the wrong one outside, it trains on the first
micro-batch alone.
"""
import argparse
import contextlib
import os

import torch
import torch.distributed as dist

p = argparse.ArgumentParser()
p.add_argument("--reduce", choices=["last", "every", "first"], default="last", help="at which micro-batch")
p.add_argument("--micro-batches", type=int, default=4)
p.add_argument("--steps", type=int, default=6)
p.add_argument("--hidden", type=int, default=96)
p.add_argument("--bucket-mb", type=float, default=25)
p.add_argument("--optimizer", choices=["SGD", "AdamW"], default="AdamW")
p.add_argument("--norm", action="store_true", help="with batch normalisation, whose buffers are broadcast")
a = p.parse_args()

rank, world, gpu = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
torch.cuda.set_device(gpu)
dist.init_process_group("nccl", device_id=torch.device("cuda", gpu))
torch.manual_seed(1)
norm = torch.nn.BatchNorm1d(a.hidden) if a.norm else torch.nn.Identity()
net = torch.nn.Sequential(torch.nn.Linear(32, a.hidden), norm, torch.nn.ReLU(), torch.nn.Linear(a.hidden, a.hidden),
                          torch.nn.ReLU(), torch.nn.Linear(a.hidden, 1)).to(gpu)
ddp = torch.nn.parallel.DistributedDataParallel(net, device_ids=[gpu], bucket_cap_mb=a.bucket_mb)
opt = getattr(torch.optim, a.optimizer)(ddp.parameters(), lr=1e-2)
reduced_at = {"first": {0}, "last": {a.micro_batches - 1}, "every": set(range(a.micro_batches))}[a.reduce]

torch.manual_seed(100 + rank)
for step in range(a.steps):
    for micro in range(a.micro_batches):
        x = torch.randn(8, 32).to(gpu)
        with contextlib.nullcontext() if micro in reduced_at else ddp.no_sync():
            loss = (ddp(x) - x.sum(1, keepdim=True)).pow(2).mean() / a.micro_batches
            loss.backward()  # of one micro-batch
    opt.step()
    opt.zero_grad()
total = loss.detach()
dist.all_reduce(total)
if rank == 0:
    print("loss", total.item() / world)
dist.destroy_process_group()
