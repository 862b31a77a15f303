"""Trains a small model with DistributedDataParallel on NCCL; gradients of two micro-batches are accumulated.

torchrun --nproc-per-node 2 train.py
"""
import os

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")

torch.manual_seed(0)
data = TensorDataset(torch.randn(512, 32), torch.randint(0, 10, (512,)))
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data), pin_memory=True)
layers = [torch.nn.Linear(32, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)]
model = DistributedDataParallel(torch.nn.Sequential(*layers).cuda(), bucket_cap_mb=0.1)
optimizer = torch.optim.AdamW(model.parameters())

for number, (x, y) in enumerate(loader):
    loss = cross_entropy(model(x.cuda()), y.cuda()) / 2
    loss.backward()
    if number % 2 == 1:
        optimizer.step()
        optimizer.zero_grad()

if dist.get_rank() == 0:
    torch.save(model.module.state_dict(), "model.pt")
    print(f"loss {2 * loss.item():.4f}")
dist.destroy_process_group()
