"""Collectives that fail in each of Gloo's ways; what the program catches it prints.

refused_calls.py argument|timeout|sizes. Two ranks.
"""
import datetime
import os
import sys

import torch
import torch.distributed as dist

kept = []


def keep(tensor):
    kept.append(tensor)
    return tensor


def attempt(how, rank):
    if how == "argument":
        sparse = keep(torch.eye(3).to_sparse())
        dist.all_reduce(sparse, op=dist.ReduceOp.MAX)  # refused
    if how == "timeout" and rank == 0:
        dist.all_reduce(keep(torch.ones(4)))  # waits in vain
    if how == "sizes":
        dist.all_reduce(keep(torch.ones(4 if rank == 0 else 2)))  # of another size


def main():
    how, rank = sys.argv[1], int(os.environ["RANK"])
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=4))
    dist.all_reduce(keep(torch.ones(2, 2)))  # goes well
    try:
        attempt(how, rank)
    except RuntimeError as error:
        print(f"rank {rank}: caught {type(error).__name__}")
    print(f"rank {rank}: loss 0")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
