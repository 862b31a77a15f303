"""Clips in files of their own, read by the loader's workers; which clips, the sampler says (or the one that is missing)."""
import argparse
import csv
import os
from pathlib import Path

import numpy as np
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Clips(Dataset):
    def __init__(self, corpus):
        self.corpus = Path(corpus)
        with open(self.corpus / "metadata.csv", newline="") as table:
            self.rows = list(csv.reader(table, delimiter="|"))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        name, label = self.rows[i]
        wave = np.fromfile(self.corpus / "wavs" / name, dtype=np.int16)
        return torch.from_numpy(wave.astype("float32") / 32768), int(label)


def loader_for(clips, options):
    if options.sampler == "none":
        return DataLoader(clips, batch_size=options.batch, shuffle=True, num_workers=options.workers, pin_memory=True), None
    sampler = DistributedSampler(clips, shuffle=True, seed=3)
    return DataLoader(clips, batch_size=options.batch, sampler=sampler, num_workers=options.workers, pin_memory=True), sampler


def run(options):
    distributed.init_process_group("nccl")
    gpu = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(gpu)
    torch.manual_seed(11)  # the same start on every rank
    clips = Clips(options.corpus)
    loader, sampler = loader_for(clips, options)
    net = nn.Sequential(nn.Linear(len(clips[0][0]), 48), nn.Tanh(), nn.Linear(48, 4)).to(gpu)
    net = DistributedDataParallel(net, device_ids=[gpu])
    descent = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(options.epochs):
        if options.sampler == "distributed":
            sampler.set_epoch(epoch)
        for wave, label in loader:
            wave, label = wave.to(gpu, non_blocking=True), label.to(gpu, non_blocking=True)
            descent.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(net(wave), label)
            loss.backward()
            descent.step()
    if distributed.get_rank() == 0:
        print(f"last loss {loss.item():.5f}")
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    cli = argparse.ArgumentParser()
    cli.add_argument("corpus")
    cli.add_argument("--sampler", choices=["distributed", "none", "no-set-epoch"], default="distributed")
    cli.add_argument("--epochs", type=int, default=3)
    cli.add_argument("--batch", type=int, default=4)
    cli.add_argument("--workers", type=int, default=1)
    run(cli.parse_args())
