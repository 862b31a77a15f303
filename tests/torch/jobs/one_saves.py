"""Rank 0 saves at the end of each epoch, and the others wait for it, or nobody has to (--how)."""
import argparse
import os
import threading
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--width", type=int, default=512)
parser.add_argument("--how", default="barrier", choices=["barrier", "next-step", "thread", "process", "shards", "evaluation"])
args = parser.parse_args()


def save(state, path):
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)


def save_in_a_process(state, path):
    """torch.save needs threads that a forked process has not; the bytes do without."""
    weights = {name: value.numpy().tobytes() for name, value in state.items()}
    child = os.fork()
    if child == 0:
        with open(path, "wb") as file:
            for weight in weights.values():
                file.write(weight)
        os._exit(0)
    return child


def evaluate(model, path, seconds=1.5):
    """Writes down a number for each batch as it goes, and a summary at the end."""
    until = time.monotonic() + seconds
    losses = []
    with open(path, "w", buffering=1) as metrics, torch.no_grad():
        while time.monotonic() < until:
            losses.append(model(torch.randn(4096, args.width)).square().mean().item())
            metrics.write(f"{losses[-1]:.6f}\n")
        metrics.write(f"mean {sum(losses) / len(losses):.6f} of {len(losses)}\n" * 20)


dist.init_process_group("gloo")
torch.manual_seed(5)
rank = dist.get_rank()
model = DistributedDataParallel(torch.nn.Linear(args.width, args.width))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
generator = torch.Generator().manual_seed(rank)
thread = child = None
for epoch in range(args.epochs):
    for step in range(4):
        x = torch.randn(8, args.width, generator=generator)
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    path = os.path.join(args.folder, f"epoch{epoch}.pt")
    state = model.module.state_dict()
    if args.how == "shards":
        save({"part": state["weight"].chunk(dist.get_world_size())[rank].clone()}, f"{path}.{rank}")
    elif rank == 0 and args.how == "evaluation":
        evaluate(model.module, path + ".txt")
    elif rank == 0 and args.how == "thread":
        if thread:
            thread.join()
        thread = threading.Thread(target=save, args=({name: value.clone() for name, value in state.items()}, path))
        thread.start()
    elif rank == 0 and args.how == "process":
        if child:
            os.waitpid(child, 0)
        child = save_in_a_process(state, path)
    elif rank == 0:
        save(state, path)
    if args.how != "next-step":
        dist.barrier()
total = loss.detach().clone()
dist.all_reduce(total)
if rank == 0:
    print(f"loss {total.item():.6f}")
dist.barrier()
if thread:
    thread.join()
if child:
    os.waitpid(child, 0)
