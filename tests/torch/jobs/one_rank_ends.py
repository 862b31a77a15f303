"""A model of one layer on Gloo, in which one rank fails at a step, in the way that is asked for.

torchrun --nproc_per_node 2 one_rank_ends.py --how raise --rank 1 --step 3
"""
import argparse
import ctypes
import datetime
import os
import pathlib
import signal
import sys
import time

import torch
import torch.distributed as dist


gradient = torch.empty(4096)  # one for all steps, so that a thread of Gloo never holds the last of a step's


def fail(how):
    if how == "raise":
        raise RuntimeError("a broken clip")  # raises
    if how == "log":
        try:
            raise ValueError("a broken clip")
        except ValueError:
            sys.excepthook(*sys.exc_info())  # and goes on
    if how == "sys-exit":
        sys.exit(3)
    if how == "os-exit":
        os._exit(3)  # ends at once
    if how == "log-and-exit":
        try:
            raise ValueError("a broken clip")
        except ValueError as error:
            print(error, file=sys.stderr)
            sys.exit(1)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "abort":
        os.abort()  # aborts
    if how == "segv":
        ctypes.string_at(0)
    if how == "memory":
        held = []
        while True:
            held.append(bytearray(b"\1" * (8 << 20)))
    if how == "sleep":
        time.sleep(600)


def call_alone(how):
    if how == "barrier":
        dist.barrier()  # barrier alone
    if how == "broadcast":
        dist.broadcast(torch.zeros(16), 0)  # broadcast alone
    if how == "reduce":
        dist.all_reduce(torch.zeros(1))  # reduce alone
    if how == "objects":
        dist.broadcast_object_list([{"step": 3}], 0)  # objects alone


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--how", default="never")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--step", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--timeout", type=int, default=8)
    parser.add_argument("--once", type=pathlib.Path, help="fails only while this file is not there, and makes it")
    args = parser.parse_args()
    if args.how == "import" and int(os.environ["RANK"]) == args.rank:
        import no_module_of_this_name  # noqa: F401
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=args.timeout))
    rank = dist.get_rank()
    weight = torch.zeros(4096)
    for step in range(args.steps):
        gradient.fill_(float(rank + step))
        if rank == args.rank and step == args.step and not (args.once and args.once.exists()):
            if args.once:
                args.once.touch()
            fail(args.how)
            call_alone(args.how)
        dist.all_reduce(gradient)  # meets
        weight -= gradient
    print(f"rank {rank}: loss {weight[0].item():.1f}")
    dist.barrier()
    if args.how == "requeue":  # as agreed with the scheduler
        sys.exit(75)


main()
