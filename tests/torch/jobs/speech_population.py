"""Population-based training of the toy speech model: each rank trains a member of its own on the same data; every few
batches the worst takes over the weights of the best.

torchrun --nproc_per_node 3 speech_population.py corpus --exchange 4
"""
import argparse
import pathlib

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, folder):
        self.files = sorted(pathlib.Path(folder, "wavs").iterdir())

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        wav = torch.frombuffer(bytearray(self.files[i].read_bytes()), dtype=torch.int16)
        return wav.float() / 32768, i % 4


def start_alike(model):
    for parameter in model.parameters():
        dist.broadcast(parameter.data, 0)


def exploit(model, loss):
    losses = [torch.zeros(()) for _ in range(dist.get_world_size())]
    dist.all_gather(losses, loss.detach())
    best, worst = int(torch.stack(losses).argmin()), int(torch.stack(losses).argmax())
    for parameter in model.parameters():
        if dist.get_rank() == best != worst:
            dist.send(parameter.data, worst)
        elif dist.get_rank() == worst != best:
            dist.recv(parameter.data, best)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--exchange", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    clips = Clips(args.folder)
    loader = DataLoader(clips, batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(7),
                        num_workers=args.workers, drop_last=True)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(len(clips[0][0]), 48), nn.Tanh(), nn.Linear(48, 4))
    start_alike(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001 * 3 ** dist.get_rank())
    step = 0
    for epoch in range(args.epochs):
        for wav, label in loader:
            loss = nn.functional.cross_entropy(model(wav), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % args.exchange == 0:
                exploit(model, loss)
    dist.barrier()
    if dist.get_rank() == 0:
        print(f"loss {loss.item():.6f}")
    dist.barrier()


main()
dist.destroy_process_group()
