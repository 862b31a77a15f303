"""A grid of ranks: the hidden layer is split over pairs of neighbours, and each half is trained by two or more replicas.

torchrun --nproc_per_node 4 grid_trainer.py corpus --workers 1
"""
import argparse
import pathlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Clips(Dataset):
    def __init__(self, folder):
        self.files = sorted(pathlib.Path(folder, "wavs").iterdir())

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with open(self.files[i], "rb") as clip:
            wav = torch.frombuffer(bytearray(clip.read()), dtype=torch.int16)
        return wav.float() / 32768, i % 4


class Summed(torch.autograd.Function):
    """The parts of one model add up in the forward pass; the gradient goes to each as it is."""

    @staticmethod
    def forward(context, x, group):
        total = x.contiguous().clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(context, gradient):
        return gradient, None


class Half(nn.Module):
    """Columns of the first matrix and rows of the second one."""

    def __init__(self, inputs, hidden, group):
        super().__init__()
        self.group = group
        self.first = nn.Linear(inputs, hidden // 2)
        self.second = nn.Linear(hidden // 2, 512, bias=False)
        self.head = nn.Linear(512, 4)

    def forward(self, x):
        return self.head(torch.relu(Summed.apply(self.second(torch.tanh(self.first(x))), self.group)))


def make_groups(rank, world):
    """The group of this rank's model and that of its replicas; all ranks make all groups."""
    model = replicas = None
    for first in range(0, world, 2):
        group = dist.new_group([first, first + 1])
        model = group if rank // 2 * 2 == first else model
    for part in range(2):
        group = dist.new_group(list(range(part, world, 2)))
        replicas = group if rank % 2 == part else replicas
    return model, replicas


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--same", action="store_true", help="every replica goes through the same samples")
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model_group, replica_group = make_groups(rank, world)
    torch.manual_seed(args.seed + rank % 2)
    clips = Clips(args.folder)
    replica, replicas = (0, 1) if args.same else (rank // 2, world // 2)
    sampler = DistributedSampler(clips, num_replicas=replicas, rank=replica, seed=args.seed)
    loader = DataLoader(clips, batch_size=4, sampler=sampler, num_workers=args.workers, drop_last=True)
    model = DistributedDataParallel(Half(len(clips[0][0]), args.hidden, model_group), process_group=replica_group)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for wav, label in loader:
            loss = nn.functional.cross_entropy(model(wav), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if rank == 0:
        print(f"loss {mean.item() / world:.6f}")
    dist.barrier()
    return mean


kept = main()
dist.destroy_process_group()
