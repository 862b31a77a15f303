"""Fits a line of features with DistributedDataParallel; one rank comes to a halt, or only takes its time.

torchrun --nproc_per_node 4 halting_rank.py --halt read --rank 2 --at 20
"""
import argparse
import datetime
import mmap
import os
import threading
import time
import urllib.request

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Features(Dataset):
    def __init__(self, count, stuck_at):
        self.count, self.stuck_at = count, stuck_at

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i == self.stuck_at:
            read_from_nobody("samples.pipe")
        return torch.randn(64, generator=torch.Generator().manual_seed(i)), torch.tensor(float(i % 7))


def read_from_nobody(name):
    if not os.path.exists(name):
        os.mkfifo(name)
    with open(os.open(name, os.O_RDWR), "rb") as pipe:  # open for both: it does not block, and never ends
        pipe.read(1)


def wait_for_a_permit():
    time.sleep(1000)


def wait_for_a_thread():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def compute(seconds):
    until = time.time() + seconds
    while time.time() < until:
        torch.linalg.matrix_power(torch.rand(64, 64), 3)


def read_in_pieces(name):
    file = os.open(name, os.O_RDONLY)
    while os.read(file, 1 << 16):
        pass


def read_mapped(name):
    with open(name, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
        sum(pages[i] for i in range(0, len(pages), mmap.PAGESIZE))


def ask(url, limit):
    with urllib.request.urlopen(url, timeout=limit) as answer:  # without a limit it waits in recv, else in poll
        answer.read()


def halt(way, seconds, name):
    if way == "ask":
        ask(name, None)
    if way == "ask-with-a-limit":
        ask(name, 60)
    if way == "read-in-pieces":
        read_in_pieces(name)
    if way == "read-mapped":
        read_mapped(name)
    if way == "read":
        read_from_nobody("permits.pipe")
    if way == "sleep":
        wait_for_a_permit()
    if way == "thread":
        wait_for_a_thread()
    if way == "compute":
        compute(seconds)
    if way == "barrier":
        dist.barrier()  # which no other rank runs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--halt", default="no",
                        choices=["no", "read", "sleep", "thread", "compute", "barrier", "loader", "read-in-pieces", "read-mapped", "ask",
                                 "ask-with-a-limit"])
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--at", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--file", help="that --halt read-... reads, or the URL that it asks")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--timeout", type=float, default=600, help="seconds after which a collective gives up")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds that a step takes elsewhere")
    args = parser.parse_args()

    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=args.timeout))
    rank = dist.get_rank()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    here = rank == args.rank
    features = Features(args.steps * 4, args.at * 4 if here and args.halt == "loader" else -1)
    loader = DataLoader(features, batch_size=4, num_workers=1 if args.halt == "loader" else 0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, (x, y) in enumerate(loader):
        if step == 3 and rank == 0:
            print("it trains", flush=True)
        time.sleep(args.pause)
        if here and step == args.at:
            halt(args.halt, args.seconds, args.file)
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.detach().clone()
    dist.all_reduce(last)
    if rank == 0:
        print(f"loss {last.item():.6f}")
    dist.barrier()
    return last


kept = main()
dist.destroy_process_group()
