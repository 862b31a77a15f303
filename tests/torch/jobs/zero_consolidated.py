"""Each rank keeps a part of Adam's state (ZeroRedundancyOptimizer) and has a different number of batches (Join); the parts
are gathered on rank 0, which saves, and all ranks go on from what it saved.
"""
import argparse
import pathlib
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("out", type=pathlib.Path)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--width", type=int, default=96)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--savers", choices=["rank-0", "all"], default="rank-0")
parser.add_argument("--barrier", choices=["after", "before"], default="after", help="... rank 0 saves")
parser.add_argument("--late", type=float, default=0, help="seconds that the others take before they load")
args = parser.parse_args()

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(args.seed)


def new_trainer():
    net = torch.nn.Sequential(torch.nn.Linear(args.width, args.width), torch.nn.Tanh(), torch.nn.Linear(args.width, args.width))
    model = DistributedDataParallel(net)
    return model, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=1e-3)


def train(model, optimizer, epoch):
    generator = torch.Generator().manual_seed(args.seed + 100 * epoch + rank)
    with Join([model, optimizer]):
        for _ in range(3 + rank):
            x = torch.randn(8, args.width, generator=generator)
            loss = (model(x) - x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss


def save(model, optimizer, epoch):
    path = args.out / f"epoch{epoch}.pt"
    for saver in [0] if args.savers == "rank-0" else range(world):
        optimizer.consolidate_state_dict(to=saver)
        if rank == saver:
            whole = optimizer.state_dict()  # until the next consolidation
    if args.barrier == "before":
        dist.barrier()
    if rank == 0 or args.savers == "all":
        torch.save({"model": model.module.state_dict(), "optimizer": whole}, path)
    if args.barrier == "after":
        dist.barrier()
    return path


def resume(path):
    if rank:
        time.sleep(args.late)
    kept = torch.load(path, map_location="cpu")
    model, optimizer = new_trainer()
    model.module.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    return model, optimizer


args.out.mkdir(parents=True, exist_ok=True)
model, optimizer = new_trainer()
for epoch in range(args.epochs):
    loss = train(model, optimizer, epoch)
    model, optimizer = resume(save(model, optimizer, epoch))
total = loss.detach().clone()
dist.all_reduce(total)
if rank == 0:
    print(f"loss {total.item() / world:.6f}")
dist.barrier()
dist.destroy_process_group()
