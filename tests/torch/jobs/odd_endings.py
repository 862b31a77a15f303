"""Trains a small model on Gloo and ends in a way of its own. usage: odd_endings.py WAY STEPS

WAY: all-at-once: each rank leaves by os._exit(0); one-at-once: rank 1 does; rank-0-leaves: after a last barrier, and the
others go on alone; exec: each becomes another program; daemon: rank 0 leaves a process behind; restart: rank 1 fails
in the first attempt; save: rank 0 saves for six seconds, the others wait in a barrier; speeds: the ranks' steps take
from 0.1 s to more.
"""
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def save(model):
    with open("model.tmp", "wb") as file:
        for _ in range(60):
            torch.save(model.state_dict(), file)
            time.sleep(0.1)
    os.rename("model.tmp", "model.pt")


def train(way, steps, rank):
    first_attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    data = torch.Generator().manual_seed(rank)
    for step in range(steps):
        loss = model(torch.randn(8, 64, generator=data)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if way == "restart" and first_attempt and step == steps // 2 and rank == 1:
            sys.exit(1)
        if step == 10 and rank == 0:
            pathlib.Path("begun").touch()
        if way == "save" and step == 10:
            if rank == 0:
                save(model)
            dist.barrier()
        if way == "speeds":
            time.sleep(0.1 * (rank + 1))
    return loss.item()


def go_on_alone(others):
    total = torch.ones(8)
    for _ in range(30):
        dist.all_reduce(total, group=others)
        time.sleep(0.05)
    pathlib.Path(f"result.{dist.get_rank()}").write_bytes(bytes(5000))
    os._exit(0)


def end(way, rank, others):
    if way == "all-at-once" or (way == "one-at-once" and rank == 1) or (way == "rank-0-leaves" and rank == 0):
        os._exit(0)
    if way == "rank-0-leaves":
        go_on_alone(others)
    if way == "exec":
        os.execv("/bin/true", ["true"])
    if way == "daemon" and rank == 0 and os.fork() == 0:
        os.setsid()
        for _ in range(20):
            with open("daemon.log", "a") as log:
                log.write("alive\n")
            time.sleep(0.1)
        os._exit(0)


def main():
    way, steps = sys.argv[1], int(sys.argv[2])
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    loss = train(way, steps, rank)
    others = dist.new_group(range(1, dist.get_world_size()))
    dist.barrier()
    if rank == 0:
        print("loss", loss, flush=True)
    end(way, rank, others)


if __name__ == "__main__":
    main()
