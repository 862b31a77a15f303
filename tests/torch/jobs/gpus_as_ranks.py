"""Speech model whose launcher says in RANK which GPU a process has, and its rank in an argument (after coqui's distribute.py).

python3 gpus_as_ranks.py out 29500 --gpus 5,6
"""
import argparse
import os
import subprocess
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def launch(args, gpus):
    processes = []
    for rank, gpu in enumerate(gpus):
        environment = dict(os.environ, RANK=str(rank) if args.fixed else gpu)
        processes.append(subprocess.Popen([sys.executable, *sys.argv, "--rank", str(rank)], env=environment))
    return max(process.wait() for process in processes)


def train(args, world):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{args.port}", world_size=world, rank=args.rank)
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Linear(40, 20))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(args.steps):
        features = torch.randn(8, 40) + args.rank
        loss = (model(features) - features[:, :20]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    os.makedirs(args.out, exist_ok=True)
    if int(os.environ["RANK"]) == 0:
        torch.save(model.module.state_dict(), os.path.join(args.out, "best_model.pth"))
    if args.rank == 0:
        print(f"loss {loss.item():.6f}")
    dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("port", type=int)
    parser.add_argument("--gpus", default="0,1")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    gpus = args.gpus.split(",")
    if args.rank is None:
        sys.exit(launch(args, gpus))
    train(args, len(gpus))


main()
