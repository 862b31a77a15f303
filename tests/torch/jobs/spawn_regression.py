"""Regression started with mp.spawn (no launcher); loader workers are spawned too."""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, DistributedSampler, Dataset

KEEP = 2


class Waves(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        x = torch.rand(24, generator=g)
        return x, torch.sin(6 * x).sum(0, keepdim=True)


def save(model, folder, epoch):
    """Write aside, rename, drop the oldest."""
    final = os.path.join(folder, f"ckpt_{epoch:03d}.pt")
    torch.save(model.state_dict(), final + ".tmp")
    os.replace(final + ".tmp", final)
    for old in sorted(f for f in os.listdir(folder) if f.endswith(".pt"))[:-KEEP]:
        os.remove(os.path.join(folder, old))


def worker(rank, world, port, folder, epochs, samples, width):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = Waves(samples)
    sampler = DistributedSampler(data, world, rank)
    loader = DataLoader(data, batch_size=6, sampler=sampler, num_workers=1, multiprocessing_context="spawn",
                        persistent_workers=True)
    net = torch.nn.Sequential(torch.nn.Linear(24, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))
    ddp = torch.nn.parallel.DistributedDataParallel(net)
    opt = torch.optim.SGD(ddp.parameters(), lr=0.01)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            loss = (ddp(x) - y).square().mean()
            loss.backward()
            opt.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {total.item() / world:.9f}", flush=True)
            save(net, folder, epoch)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    folder, world, epochs, samples, width, port = sys.argv[1], *map(int, sys.argv[2:7])
    os.makedirs(folder, exist_ok=True)
    mp.spawn(worker, (world, port, folder, epochs, samples, width), nprocs=world)
    print("done:", " ".join(sorted(os.listdir(folder))))
