"""Fits random features with DistributedDataParallel; one rank keeps the others waiting in each step, or does not.

torchrun --nproc_per_node 2 slow_rank.py --way host --rank 1
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Features(Dataset):
    def __init__(self, count, pause):
        self.count, self.pause = count, pause

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        time.sleep(self.pause)
        return torch.randn(64, generator=torch.Generator().manual_seed(i)), torch.tensor(float(i % 7))


def write_log(file, seconds):
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        file.write("one line more\n")
        file.flush()
        os.fsync(file.fileno())


class Slow(nn.Module):
    """Its host computes for so long."""

    def __init__(self, network, seconds):
        super().__init__()
        self.network, self.seconds = network, seconds

    def forward(self, x):
        time.sleep(self.seconds())
        return self.network(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--way", required=True,
                        choices=["host", "input", "files", "evenly", "in-turn", "seldom", "a-little"])
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--steps", type=int, default=70)
    parser.add_argument("--late", type=float, default=0.03, help="seconds a step")
    parser.add_argument("--step", type=float, default=0.03, help="seconds that a step takes otherwise")
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    here = rank == args.rank
    step = 0

    def seconds():
        late = {"host": here, "evenly": True, "in-turn": step % ranks == rank, "seldom": here and step % 10 == 0,
                "a-little": here}.get(args.way, False)
        share = 0.02 if args.way == "a-little" else 1
        return args.step + (args.late * share if late else 0)

    batch = 4
    features = Features(args.steps * batch * ranks, args.late * 2 / batch if here and args.way == "input" else 0)
    sampler = DistributedSampler(features, ranks, rank)
    loader = DataLoader(features, batch_size=batch, sampler=sampler, num_workers=1 if args.way == "input" else 0)
    network = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
    model = DistributedDataParallel(Slow(network, seconds), bucket_cap_mb=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    log = open(f"log-{rank}", "w")
    for step, (x, y) in enumerate(loader):
        if here and args.way == "files":
            write_log(log, args.late)
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.detach().clone()
    dist.all_reduce(last)
    if rank == 0:
        print(f"loss {last.item() / ranks:.6f}")
    dist.barrier()
    return model, optimizer, last


if __name__ == "__main__":
    kept = main()
    dist.barrier()
    del kept
    dist.destroy_process_group()
