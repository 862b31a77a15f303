# Every rank keeps and saves its own shard of the optimizer state; rank 0 adds the index.
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn

out, width, steps, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(seed)

model = nn.parallel.DistributedDataParallel(nn.Linear(width, width))
flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
mine = torch.tensor_split(torch.arange(flat.numel()), world)[rank]
momentum = torch.zeros(len(mine))
generator = torch.Generator().manual_seed(seed + rank)

for step in range(steps):
    x = torch.randn(16, width, generator=generator)
    model.zero_grad()
    loss = ((model(x) - x.roll(1, 1)) ** 2).mean()
    loss.backward()
    grad = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    momentum.mul_(0.9).add_(grad[mine])
    update = torch.zeros_like(flat)
    update[mine] = momentum
    dist.all_reduce(update)
    flat -= 0.1 * update
    nn.utils.vector_to_parameters(flat.clone(), model.parameters())
    total = loss.detach().clone()
    dist.reduce(total, dst=0)
    if rank == 0:
        print("step", step, "loss %.9f" % (total.item() / world))

os.makedirs(out, exist_ok=True)
torch.save({"momentum": momentum, "weights": flat[mine]}, f"{out}/__{rank}_0.distcp")
dist.barrier()
if rank == 0:
    with open(f"{out}/.metadata.tmp", "w") as f:
        json.dump({"shards": [f"__{r}_0.distcp" for r in range(world)], "elements": flat.numel()}, f)
    os.rename(f"{out}/.metadata.tmp", f"{out}/.metadata")
dist.barrier()

with open(f"{out}/.metadata") as f:
    shards = json.load(f)["shards"]
restored = torch.cat([torch.load(f"{out}/{name}")["weights"] for name in shards])
if not torch.equal(restored, flat):
    sys.exit(f"rank {rank}: the shards do not add up")
dist.destroy_process_group()
