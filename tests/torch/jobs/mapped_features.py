"""Features of all clips in one .npy file that every rank has mapped: each fills its own rows, then all read all of it."""
import sys

import numpy as np
import torch
import torch.distributed as dist

path, clips, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
if rank == 0:
    np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(clips, size)).flush()
dist.barrier()

features = np.load(path, mmap_mode="r+")
for clip in range(rank, clips, world):
    features[clip] = np.random.default_rng(clip).normal(size=size)
features.flush()
dist.barrier()

torch.manual_seed(1)
layer = torch.nn.Linear(size, 1)
features = torch.from_numpy(np.load(path, mmap_mode="r").copy())
for epoch in range(3):
    order = np.random.default_rng(epoch).permutation(clips)
    for clip in order[rank:clips - clips % world:world]:
        loss = (layer(features[clip]) - features[clip].mean()).square().mean()
        layer.zero_grad()
        loss.backward()
        for parameter in layer.parameters():
            dist.all_reduce(parameter.grad)
            parameter.data -= 0.01 * parameter.grad / world
mean = loss.detach().clone()
dist.all_reduce(mean)
if rank == 0:
    print(f"loss {mean.item() / world:.6f}")
dist.barrier()
dist.destroy_process_group()
