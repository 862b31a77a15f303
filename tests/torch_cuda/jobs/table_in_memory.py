"""Regression on a table that each rank holds in memory."""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, RandomSampler, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--split", choices=["ranks", "nobody", "once"], default="ranks",
                    help="nobody: each rank shuffles all rows; once: the order of the first epoch is used again")
parser.add_argument("--rows", type=int, default=96)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--noise", type=float, default=0, help="augments the rows, on each rank otherwise")
parser.add_argument("--validate", action="store_true", help="behind each epoch, in one shuffled order: as is usual and harmless")
opts = parser.parse_args()

LOCAL = int(os.environ["LOCAL_RANK"])
device = torch.device(f"cuda:{LOCAL}")
torch.cuda.set_device(device)
dist.init_process_group(backend="nccl", init_method="env://")
rows = torch.randn(opts.rows, 24, generator=torch.Generator().manual_seed(5))
table = TensorDataset(rows, rows[:, :3].sum(1, keepdim=True))
if opts.split == "nobody":
    sampler = RandomSampler(table, generator=torch.Generator().manual_seed(5))
else:
    sampler = DistributedSampler(table)
batches = DataLoader(table, batch_size=8, sampler=sampler, num_workers=opts.workers, pin_memory=True)
validation = DataLoader(table, batch_size=8, sampler=DistributedSampler(table), num_workers=opts.workers, pin_memory=True)
torch.manual_seed(5)
model = DistributedDataParallel(torch.nn.Linear(24, 1).to(device), device_ids=[LOCAL])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
noise = torch.Generator().manual_seed(1000 + dist.get_rank())
for epoch in range(opts.epochs):
    if opts.split == "ranks":
        sampler.set_epoch(epoch)
    for inputs, wanted in batches:
        if opts.noise:
            inputs = inputs + opts.noise * torch.randn(inputs.shape, generator=noise)
        error = torch.nn.functional.mse_loss(model(inputs.to(device)), wanted.to(device))
        error.backward()
        optimizer.step()
        optimizer.zero_grad()
    mean = error.detach().clone()
    if opts.validate:
        with torch.no_grad():
            for inputs, wanted in validation:
                mean += torch.nn.functional.mse_loss(model.module(inputs.to(device)), wanted.to(device))
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    if LOCAL == 0:
        print(f"{epoch}: loss {mean.item():.5f}", flush=True)
dist.destroy_process_group()
