"""A small model in DistributedDataParallel, gradients accumulated over three micro-batches and reduced in the last.

RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT: as a launcher sets them.
"""
import contextlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, MICRO_BATCHES = 4, 3


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()  # cleared
        for micro in range(MICRO_BATCHES):
            last = micro == MICRO_BATCHES - 1
            with contextlib.nullcontext() if last else model.no_sync():
                loss = model(torch.randn(5, 8)).square().mean()  # forward
                loss.backward()  # backward
        optimizer.step()  # updated
    print(f"rank {dist.get_rank()}: loss {loss.item():.3f}")
    dist.barrier()
    return model


if __name__ == "__main__":
    kept = main()
    del kept
    dist.destroy_process_group()
