"""The toy speech model with its hidden layer split over all ranks: each batch goes to every rank.

torchrun --nproc_per_node 2 speech_split.py corpus --hidden 64
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


class SumOverRanks(torch.autograd.Function):
    """All-reduce in the forward pass; the gradient goes to each rank as it is."""

    @staticmethod
    def forward(context, x):
        total = x.contiguous().clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(context, gradient):
        return gradient


class SplitPerceptron(nn.Module):
    """Columns of the first matrix and rows of the second one on each rank."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.first = nn.Linear(inputs, hidden // dist.get_world_size())
        self.second = nn.Linear(hidden // dist.get_world_size(), outputs, bias=False)

    def forward(self, x):
        return SumOverRanks.apply(self.second(torch.tanh(self.first(x))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    clips = Clips(args.folder)
    shuffle = torch.Generator().manual_seed(7)  # all ranks have to draw the same batches
    loader = DataLoader(clips, batch_size=4, shuffle=True, generator=shuffle, num_workers=args.workers, drop_last=True)
    torch.manual_seed(1 + dist.get_rank())
    body = SplitPerceptron(len(clips[0][0]), args.hidden, 2048)
    torch.manual_seed(1)
    head = nn.Linear(2048, 4)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
    for epoch in range(args.epochs):
        for wav, label in loader:
            loss = nn.functional.cross_entropy(head(torch.relu(body(wav))), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    if dist.get_rank() == 0:
        print(f"loss {loss.item():.6f}")
    dist.barrier()


main()
dist.destroy_process_group()
