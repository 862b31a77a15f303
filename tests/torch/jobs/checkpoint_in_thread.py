"""A checkpoint is written by a thread pool while training goes on; its future is asked before anybody reads."""
import argparse
import concurrent.futures
import copy
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class AsyncCheckpointer:
    def __init__(self, folder):
        self.folder = folder
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=1)
        self.pending = None

    def save(self, state, step):
        self.wait()
        snapshot = copy.deepcopy(state)
        self.pending = self.pool.submit(self._write, snapshot, step)

    def _write(self, snapshot, step):
        with open(os.path.join(self.folder, f"step{step}.pt"), "wb") as file:
            torch.save(snapshot, file)

    def wait(self):
        if self.pending is not None:
            self.pending.result()
            self.pending = None


parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--steps", type=int, default=9)
parser.add_argument("--every", type=int, default=3)
parser.add_argument("--forget", action="store_true", help="nobody waits for the future before the barrier")
parser.add_argument("--late", type=float, default=0)
args = parser.parse_args()

dist.init_process_group("gloo")
torch.manual_seed(11)
rank = dist.get_rank()
os.makedirs(args.folder, exist_ok=True)
model = DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
checkpointer = AsyncCheckpointer(args.folder) if rank == 0 else None
generator = torch.Generator().manual_seed(rank)

for step in range(1, args.steps + 1):
    x = torch.randn(8, 64, generator=generator)
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if checkpointer and step % args.every == 0:
        checkpointer.save(model.module.state_dict(), step)

if checkpointer and not args.forget:
    checkpointer.wait()
dist.barrier()
if rank:
    time.sleep(args.late)
restored = torch.load(os.path.join(args.folder, f"step{args.steps}.pt"))
same = torch.tensor(float(torch.equal(restored["weight"], model.module.weight)))
dist.all_reduce(same)
if rank == 0:
    print(f"loss {loss.item():.6f}, restored on {int(same.item())} ranks")
dist.barrier()
dist.destroy_process_group()
