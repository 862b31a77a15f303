"""Speech commands, the clips dealt out by hand: every rank takes each n-th batch, and nobody pads.

torchrun --nproc_per_node 2 uneven_inputs.py corpus --end barrier
"""
import argparse
import contextlib
import datetime
import pathlib
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with open(self.files[i], "rb") as clip:
            wav = torch.frombuffer(bytearray(clip.read()), dtype=torch.int16)
        return wav.float() / 32768, i % 4


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--end", choices=["barrier", "metrics", "nothing"], default="barrier")
    parser.add_argument("--first", type=int, default=0, help="the rank that is dealt the first batch")
    parser.add_argument("--fail", type=int, default=-1, help="the rank that fails instead")
    parser.add_argument("--join", action="store_true")
    args = parser.parse_args()

    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=8))
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)
    files = sorted(pathlib.Path(args.folder, "wavs").iterdir())
    order = torch.randperm(len(files)).tolist()
    own = [files[i] for place, i in enumerate(order) if (place // args.batch + args.first) % world == rank]
    loader = DataLoader(Clips(own), batch_size=args.batch, shuffle=True, num_workers=args.workers)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(400, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 4)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with model.join() if args.join else contextlib.nullcontext():
        for epoch in range(args.epochs):
            total = torch.zeros(1)
            for number, (wav, label) in enumerate(loader):
                if rank == args.fail and number == len(loader) - 1:
                    raise RuntimeError("a broken clip")
                loss = nn.functional.cross_entropy(model(wav), label)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.detach()
            if args.end == "metrics":
                dist.all_reduce(total)
            if args.end == "barrier":
                dist.barrier()  # the end of the epoch
    if rank == 0:
        print(f"loss {total.item():.6f}")
    if args.end == "nothing":
        time.sleep(0.5)  # the last tensors are the reducer's and go with the model: none can be kept until Gloo lets go of them
    else:
        dist.barrier()
    return total


kept = main()
dist.destroy_process_group()
