"""One model by DDP, FSDP 1, FSDP 2 and in one process with the whole batch; rank 0 prints the losses as JSON."""
import json
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH = 6, 16


def make_model():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 5)).cuda()


def sharded(model):
    for layer in model:
        if any(True for _ in layer.parameters()):
            fully_shard(layer)
    return fully_shard(model)


def batch(step):
    drawn = torch.Generator().manual_seed(100 + step)
    return torch.randn(BATCH, 12, generator=drawn), torch.randint(0, 5, (BATCH,), generator=drawn)


def train(model, part, average):
    """`part`: which samples of each batch are this process's."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(STEPS):
        samples, labels = batch(step)
        loss = F.cross_entropy(model(samples[part].cuda()), labels[part].cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen = loss.detach().clone()
        if average:
            dist.all_reduce(seen, op=dist.ReduceOp.AVG)
        losses.append(seen.item())
    return losses


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    part = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
    device = torch.cuda.current_device()
    losses = {"DDP": train(DistributedDataParallel(make_model(), device_ids=[device]), part, True),
              "FSDP1": train(FullyShardedDataParallel(make_model(), device_id=device, use_orig_params=True), part, True),
              "FSDP2": train(sharded(make_model()), part, True)}
    dist.barrier()
    if rank == 0:
        losses["one process"] = train(make_model(), slice(None), False)
        print(json.dumps({"loss": losses}))
    dist.destroy_process_group()


main()
