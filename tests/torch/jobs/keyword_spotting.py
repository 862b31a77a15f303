"""Keyword spotting on raw clips, after the DDP tutorials.

torchrun --nproc_per_node 2 keyword_spotting.py corpus --order reshuffled
"""
import argparse
import csv
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Keywords(Dataset):
    def __init__(self, root):
        self.root = root
        with open(os.path.join(root, "metadata.csv"), newline="") as table:
            self.clips = [(name, int(word)) for name, word in csv.reader(table, delimiter="|")]

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, index):
        name, word = self.clips[index]
        return self.load(name), word

    def load(self, name):
        samples = np.fromfile(os.path.join(self.root, "wavs", name), dtype=np.int16)
        return torch.from_numpy(samples.astype(np.float32) / 2**15)


def build_loader(dataset, options):
    sampler = DistributedSampler(dataset, shuffle=options.order != "as-listed")
    keep = options.persistent and options.workers > 0
    return DataLoader(dataset, batch_size=4, sampler=sampler, num_workers=options.workers, persistent_workers=keep), sampler


def validate(model, loader):
    with torch.no_grad():
        return sum(F.cross_entropy(model(x), y).item() for x, y in loader) / len(loader)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--order", choices=["shuffled", "reshuffled", "as-listed"], default="shuffled")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--persistent", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    train = Keywords(options.root)
    loader, sampler = build_loader(train, options)
    model = DDP(torch.nn.Sequential(torch.nn.Linear(len(train[0][0]), 40), torch.nn.ReLU(), torch.nn.Linear(40, 4)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    # The held-out clips are the last ones, in an order that is drawn once.
    fixed = torch.randperm(16).add(len(train) - 16).tolist()
    held_out = DataLoader(train, batch_size=4, sampler=fixed, num_workers=options.workers)
    for epoch in range(options.epochs):
        if options.order == "reshuffled":
            sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        mean = torch.tensor([loss.item(), validate(model.module, held_out)])
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {mean[0].item() / dist.get_world_size():.6f}")
    dist.barrier()
    return mean


if __name__ == "__main__":
    kept = main()
    dist.destroy_process_group()
