"""mp.spawn() and one file that all ranks load after the first has written it."""
import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP


def worker(rank, world, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port))
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    torch.manual_seed(4)
    model = DDP(torch.nn.Linear(30, 3).to(rank), device_ids=[rank])
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(args.steps):
        loss = model(torch.randn(6, 30).to(rank)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        torch.save(model.state_dict(), args.path)
    if not args.no_barrier:
        dist.barrier()
    elif rank != 0:
        time.sleep(args.late)  # something else to do
    state = torch.load(args.path, map_location={"cuda:0": f"cuda:{rank}"})
    model.load_state_dict(state)
    if rank == 0:
        print(f"loss {loss.item():.6f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--no-barrier", action="store_true")
    parser.add_argument("--late", type=float, default=3)
    args = parser.parse_args()
    mp.spawn(worker, args=(args.ranks, args), nprocs=args.ranks)
