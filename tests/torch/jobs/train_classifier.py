"""Train a small classifier with DistributedDataParallel.

torchrun --nproc_per_node 2 train_classifier.py --data data --out runs/1
"""
import argparse
import glob
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Digits(Dataset):
    """One .npy file per picture, the label is the last part of its name."""

    def __init__(self, root):
        self.files = sorted(glob.glob(os.path.join(root, "*.npy")))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path = self.files[index]
        label = int(path[:-len(".npy")].rsplit("_", 1)[1])
        return torch.from_numpy(np.load(path)), label


def prepare(root, count, seed):
    os.makedirs(root, exist_ok=True)
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(10, 28, 28))
    for i in range(count):
        label = int(rng.integers(10))
        image = centers[label] + 4.0 * rng.normal(size=(28, 28))
        np.save(os.path.join(root, f"digit_{i:05d}_{label}.npy"), image.astype(np.float32))


def evaluate(model, loader):
    model.eval()
    correct = seen = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
            seen += len(y)
    counts = torch.tensor([correct, seen], dtype=torch.float64)
    dist.all_reduce(counts)
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(args.seed)

    if rank == 0:
        prepare(args.data, args.samples, args.seed)
        os.makedirs(args.out, exist_ok=True)
    dist.barrier()

    dataset = Digits(args.data)
    sampler = DistributedSampler(dataset, shuffle=True, seed=args.seed)
    loader = DataLoader(dataset, batch_size=args.batch, sampler=sampler, num_workers=args.workers)

    model = DDP(nn.Sequential(nn.Flatten(), nn.Linear(784, args.hidden), nn.ReLU(), nn.Linear(args.hidden, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    checkpoint = os.path.join(args.out, "model.pt")

    for epoch in range(args.epochs):
        start = time.time()
        sampler.set_epoch(epoch)
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        mean = torch.tensor(total / len(loader), dtype=torch.float64)
        dist.all_reduce(mean)
        if rank == 0:
            print(f"epoch {epoch} loss {mean.item() / dist.get_world_size():.9f} took {time.time() - start:.2f} s")
            torch.save({"epoch": epoch, "model": model.module.state_dict()}, checkpoint)
        dist.barrier()

    # everybody continues from what rank 0 saved
    state = torch.load(checkpoint, map_location="cpu")
    model.module.load_state_dict(state["model"])
    counts = evaluate(model, loader)
    if rank == 0:
        print(f"accuracy {(counts[0] / counts[1]).item():.6f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
