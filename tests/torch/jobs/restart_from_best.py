"""Rank 0 saves the weights after each epoch and all ranks go on from what was saved; samples come from loader workers, and a
thread of each rank touches a file now and then to say that it is alive.
"""
import argparse
import os
import threading
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def keep_alive(folder, rank):
    while True:
        open(os.path.join(folder, f"alive{rank}"), "a").close()
        time.sleep(0.2)


def save(model, path):
    torch.save(model.module.state_dict(), path)


def load(model, path):
    model.module.load_state_dict(torch.load(path))


def main(args):
    dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    rank = dist.get_rank()
    os.makedirs(args.folder, exist_ok=True)
    if args.alive:
        threading.Thread(target=keep_alive, args=(args.folder, rank), daemon=True).start()
    inputs = torch.randn(64, 32)
    data = TensorDataset(inputs, inputs.flip(1))
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data), num_workers=args.workers)
    model = DistributedDataParallel(torch.nn.Linear(32, 32))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(args.epochs):
        loader.sampler.set_epoch(epoch)
        for source, target in loader:
            loss = (model(source) - target).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        path = os.path.join(args.folder, f"epoch{epoch}.pt")
        if rank == 0:
            save(model, path)
        if args.forget:  # rank 0 trains on only when the others sleep: its messages must not order what it wrote by chance
            time.sleep(args.late if rank else args.late / 4)
        else:
            dist.barrier()
        load(model, path)
    total = loss.detach().clone()
    dist.all_reduce(total)
    if rank == 0:
        print(f"loss {total.item():.6f}", flush=True)
    dist.barrier()
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alive", action="store_true", help="a thread of Python beside the main one")
    parser.add_argument("--forget", action="store_true", help="no barrier between saving and loading")
    parser.add_argument("--late", type=float, default=0)
    kept = main(parser.parse_args())
    dist.destroy_process_group()
