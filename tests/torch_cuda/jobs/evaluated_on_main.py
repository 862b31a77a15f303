"""Rank 0 evaluates while the others wait: by the module, or by the wrapper, whose forward broadcasts buffers."""
import argparse
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

flags = argparse.ArgumentParser()
flags.add_argument("--by", choices=["module", "wrapper"], default="module")
flags.add_argument("--batches", type=int, default=3)
flags.add_argument("--epochs", type=int, default=2)
flags.add_argument("--timeout", type=int, default=600)
flags = flags.parse_args()

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl", device_id=torch.device(gpu), timeout=timedelta(seconds=flags.timeout))
torch.manual_seed(6)
net = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1)).to(gpu)
ddp = nn.parallel.DistributedDataParallel(net, device_ids=[gpu])
sgd = torch.optim.SGD(ddp.parameters(), lr=0.05)
held_out = torch.randn(flags.batches, 8, 10)


def evaluate():
    evaluated = ddp if flags.by == "wrapper" else ddp.module
    ddp.eval()
    with torch.no_grad():
        losses = [evaluated(batch.to(gpu)).square().mean().item() for batch in held_out]  # on rank 0 alone
    ddp.train()
    return sum(losses) / len(losses)


for epoch in range(flags.epochs):
    for _ in range(4):
        sgd.zero_grad()
        loss = ddp(torch.randn(8, 10).to(gpu)).square().mean()
        loss.backward()
        sgd.step()
    if dist.get_rank() == 0:
        print(f"epoch {epoch} loss {evaluate():.5f}")
    dist.barrier()
dist.destroy_process_group()
