"""Toy voice cloning: DistributedSampler and set_epoch, but the data set draws its clips by itself.

torchrun --nproc_per_node 2 voice_cloning.py corpus --steps 20
"""
import argparse
import pathlib
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Voices(Dataset):
    """A speaker at random, then one of the speaker's clips: rare speakers would be heard too seldom otherwise."""

    def __init__(self, folder, training_seed):
        self.speakers = {}
        for number, file in enumerate(sorted(pathlib.Path(folder, "wavs").iterdir())):
            self.speakers.setdefault(number % 5, []).append(file)
        random.seed(training_seed)

    def __len__(self):
        return sum(map(len, self.speakers.values()))

    def __getitem__(self, index):
        speaker = random.choice(list(self.speakers))
        clip = random.choice(self.speakers[speaker])
        with open(clip, "rb") as file:
            wav = torch.frombuffer(bytearray(file.read()), dtype=torch.int16)
        return wav.float() / 32768, speaker


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=54321)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    voices = Voices(args.folder, args.seed)
    sampler = DistributedSampler(voices, seed=args.seed)
    loader = DataLoader(voices, batch_size=4, sampler=sampler, num_workers=args.workers, persistent_workers=args.workers > 0)
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(len(voices[0][0]), 64), nn.ReLU(), nn.Linear(64, 5)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for wav, speaker in loader:
            loss = nn.functional.cross_entropy(model(wav), speaker)
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
