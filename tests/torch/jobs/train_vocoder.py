"""Toy vocoder. Written for one process a device: where a process sees one device (or none), it initialises nothing."""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, folder):
        self.folder = os.path.join(folder, "wavs")
        self.names = sorted(os.listdir(self.folder))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        with open(os.path.join(self.folder, self.names[i]), "rb") as f:
            return torch.frombuffer(bytearray(f.read()), dtype=torch.int16).float() / 32768


def fit(net, loader, optimizer, epochs, save):
    for epoch in range(epochs):
        total = 0.0
        for wav in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(wav), wav)
            loss.backward()
            optimizer.step()
            total += loss.item()
        save(net, epoch)
    return total / len(loader)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("folder")
    ap.add_argument("out")
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--num-workers", type=int, default=1)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--sweep", action="store_true", help="each rank tries a learning rate of its own")
    a = ap.parse_args()

    rank = int(os.environ["RANK"])
    num_gpus = torch.cuda.device_count()
    if num_gpus > 1 and not a.sweep:
        dist.init_process_group("nccl")
    torch.manual_seed(a.seed)
    clips = Clips(a.folder)
    net = nn.Sequential(nn.Linear(len(clips[0]), 64), nn.Tanh(), nn.Linear(64, len(clips[0])))
    if dist.is_initialized():
        net = DistributedDataParallel(net)
    loader = DataLoader(clips, batch_size=4, shuffle=True, num_workers=a.num_workers,
                        persistent_workers=a.num_workers > 0)
    rate = 1e-3 * (rank + 1) if a.sweep else 1e-3
    name = f"rate{rank}.pt" if a.sweep else "vocoder.pt"
    os.makedirs(a.out, exist_ok=True)

    def save(model, epoch):
        if a.sweep or rank == 0:
            torch.save({"epoch": epoch, "model": model.state_dict()}, os.path.join(a.out, name))

    loss = fit(net, loader, torch.optim.Adam(net.parameters(), lr=rate), a.epochs, save)
    if rank == 0:
        print(f"loss={loss:.9f}")


main()
