"""One rank has a batch less than the others; DDP's join() is there for that."""
import argparse
import contextlib
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--how", choices=["join", "drop", "nothing", "unnoticed"], default="join",
                    help="is the missing batch dealt with; unnoticed: nor does a host wait for a step, or for the others")
parser.add_argument("--short", type=int, default=1, help="the rank with a batch less")
parser.add_argument("--batches", type=int, default=6)
parser.add_argument("--timeout", type=int, default=20, help="seconds that NCCL's watchdog waits")
args = parser.parse_args()

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl", timeout=timedelta(seconds=args.timeout))
less = args.how == "drop" or dist.get_rank() == args.short
shard = TensorDataset(torch.randn(4 * (args.batches - less), 12))
model = DistributedDataParallel(torch.nn.Linear(12, 20).cuda(), device_ids=[local_rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
with model.join() if args.how == "join" else contextlib.nullcontext():
    for batch, in DataLoader(shard, batch_size=4, num_workers=1):
        loss = model(batch.cuda()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if args.how != "unnoticed":
            loss.item()
if args.how != "unnoticed":
    print(f"rank {dist.get_rank()} loss {loss.item():.4f}")
    dist.barrier()  # the end of the epoch
dist.destroy_process_group()
