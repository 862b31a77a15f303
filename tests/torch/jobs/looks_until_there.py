"""Rank 0 prepares, all meet, and who does not find the manifest then lists its folder until it is there."""
import argparse
import json
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def wait_for(path):
    deadline = time.monotonic() + 60
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            raise TimeoutError(path)
        os.listdir(os.path.dirname(path))  # a network file system asks its server anew
        time.sleep(0.05)


parser = argparse.ArgumentParser()
parser.add_argument("folders", nargs="+", help="the data's, as the ranks see it: the first is rank 0's, the last all others'")
parser.add_argument("--name", default="manifest.json")
args = parser.parse_args()

dist.init_process_group("gloo")
torch.manual_seed(3)
rank = dist.get_rank()
manifest = os.path.join(args.folders[0 if rank == 0 else -1], args.name)

if rank == 0:
    with open(manifest, "w") as file:
        json.dump({"scale": 0.5, "samples": list(range(64))}, file)
dist.barrier()
wait_for(manifest)
with open(manifest) as file:
    data = json.load(file)

model = DistributedDataParallel(torch.nn.Linear(32, 32))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
generator = torch.Generator().manual_seed(rank)
for step in range(5):
    x = torch.randn(8, 32, generator=generator) * data["scale"]
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
total = loss.detach().clone()
dist.all_reduce(total)
if rank == 0:
    print(f"loss {total.item():.6f}")
dist.barrier()
dist.destroy_process_group()
