"""Toy speech model: one clip per file, loader workers read the clips."""
import argparse
import os
import random

import torch
import torch.distributed as dist
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "metadata.csv")) as f:
            self.rows = [line.rstrip("\n").split("|") for line in f]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        name, label = self.rows[i]
        with open(os.path.join(self.folder, "wavs", name), "rb") as f:
            wav = torch.frombuffer(bytearray(f.read()), dtype=torch.int16)
        return wav.float() / 32768, int(label)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("folder")
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--num-workers", type=int, default=2)
    ap.add_argument("--seed", type=int, default=54321)
    ap.add_argument("--no-wrapper", action="store_true", help="average the gradients here")
    a = ap.parse_args()

    # same seed everywhere so that all ranks start from the same weights
    random.seed(a.seed)
    torch.manual_seed(a.seed)
    dist.init_process_group("gloo")

    clips = Clips(a.folder)
    loader = DataLoader(clips, batch_size=a.batch_size, shuffle=True, num_workers=a.num_workers, drop_last=True)
    net = nn.Sequential(nn.Linear(len(clips[0][0]), 48), nn.Tanh(), nn.Linear(48, 4))
    if not a.no_wrapper:
        net = DistributedDataParallel(net)
    opt = optim.Adam(net.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(a.epochs):
        running = 0.0
        for wav, label in loader:
            opt.zero_grad()
            loss = criterion(net(wav), label)
            loss.backward()
            if a.no_wrapper:
                for parameter in net.parameters():
                    dist.all_reduce(parameter.grad)
                    parameter.grad /= dist.get_world_size()
            opt.step()
            running += loss.item()
        if dist.get_rank() == 0:
            print(f"epoch={epoch} steps={len(loader)} loss={running / len(loader):.9f}")
    dist.barrier()


main()
dist.destroy_process_group()
