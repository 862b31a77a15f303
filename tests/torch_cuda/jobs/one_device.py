"""Forgets set_device(): every rank says "cuda", which is the first device for all of them."""
import argparse
import os

import torch
import torch.distributed as dist

ap = argparse.ArgumentParser()
ap.add_argument("--set-device", action="store_true")
ap.add_argument("--steps", type=int, default=4)
ap = ap.parse_args()

if ap.set_device:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = torch.nn.Linear(20, 2).to("cuda")
dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(ap.steps):
    loss = model(torch.randn(4, 20).to("cuda")).square().sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
if dist.get_rank() == 0:
    print("loss", loss.item())
dist.destroy_process_group()
