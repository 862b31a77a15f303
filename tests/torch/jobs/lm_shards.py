"""Language model on shards of JSON lines: every rank goes through all shards and keeps every n-th line.

torchrun --nproc_per_node 2 lm_shards.py shards --seed 1
"""
import argparse
import json
import pathlib
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    """Shards come in an order that all ranks share, drawn anew for each epoch."""

    def __init__(self, folder, rank, world, seed, at_once):
        self.shards = sorted(pathlib.Path(folder).glob("*.jsonl"))
        self.rank, self.world, self.seed, self.at_once = rank, world, seed, at_once
        self.epoch = 0

    def lines(self):
        order = random.Random(self.seed + self.epoch).sample(self.shards, len(self.shards))
        for shard in order:
            with open(shard) as file:
                yield from (file.readlines() if self.at_once else file)

    def __iter__(self):
        worker = get_worker_info()
        part, parts = self.rank, self.world
        if worker:
            part, parts = self.rank * worker.num_workers + worker.id, self.world * worker.num_workers
        for number, line in enumerate(self.lines()):
            if number % parts == part:
                tokens = torch.tensor(json.loads(line)["tokens"])
                yield tokens[:-1], tokens[1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shards")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--at-once", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    lines = Lines(args.shards, dist.get_rank(), dist.get_world_size(), args.seed, args.at_once)
    loader = DataLoader(lines, batch_size=args.batch, num_workers=args.workers, drop_last=True)
    model = DistributedDataParallel(nn.Sequential(nn.Embedding(64, 48), nn.Linear(48, 128), nn.GELU(), nn.Linear(128, 64)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with model.join():
        for epoch in range(args.epochs):
            lines.epoch = epoch
            for tokens, targets in loader:
                loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if dist.get_rank() == 0:
        print(f"loss {mean.item() / dist.get_world_size():.6f}")
    dist.barrier()
    return mean


kept = main()
dist.destroy_process_group()
