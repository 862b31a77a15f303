"""Character-level language model on a memory-mapped token file, with the logs people keep."""
import argparse
import json
import logging
import os
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def get_batch(tokens, rng, batch, block):
    starts = rng.integers(len(tokens) - block - 1, size=batch)
    x = torch.stack([torch.from_numpy(tokens[s:s + block].astype(np.int64)) for s in starts])
    y = torch.stack([torch.from_numpy(tokens[s + 1:s + 1 + block].astype(np.int64)) for s in starts])
    return x, y


class ScalarLog:
    """Appends scalars to one events file, as rank 0's summary writer does."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.file = open(os.path.join(folder, f"events.out.{int(time.time())}.jsonl"), "ab", buffering=0)

    def add(self, tag, value, step):
        self.file.write((json.dumps({"tag": tag, "value": value, "step": step}) + "\n").encode())


parser = argparse.ArgumentParser()
parser.add_argument("tokens")
parser.add_argument("--name", required=True)
parser.add_argument("--steps", type=int, default=24)
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--width", type=int, default=32)
parser.add_argument("--seed", type=int, default=1337)
args = parser.parse_args()

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(args.seed)
rng = np.random.default_rng(args.seed + rank)
os.makedirs(args.name, exist_ok=True)
logging.basicConfig(filename=os.path.join(args.name, f"rank{rank}.log"), level=logging.INFO)
everyone = open(os.path.join(args.name, "all_ranks.log"), "a", buffering=1)
scalars = ScalarLog(os.path.join(args.name, "tb")) if rank == 0 else None

tokens = np.memmap(args.tokens, dtype=np.uint16, mode="r")
vocab = 256
model = DDP(nn.Sequential(nn.Embedding(vocab, args.width), nn.Linear(args.width, args.width), nn.ReLU(),
                          nn.Linear(args.width, vocab)))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for step in range(args.steps):
    for micro in range(args.accumulate):
        x, y = get_batch(tokens, rng, 4, 16)
        last = micro == args.accumulate - 1
        context = model.no_sync() if not last else torch.enable_grad()
        with context:
            logits = model(x)
            loss = nn.functional.cross_entropy(logits.view(-1, vocab), y.view(-1)) / args.accumulate
            loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if step % 8 == 7:
        mean = loss.detach() * args.accumulate
        dist.all_reduce(mean)
        mean /= world
        logging.info("step %d loss %.6f", step, mean.item())
        everyone.write(f"rank {rank} reached step {step}\n")
        if rank == 0:
            scalars.add("loss", mean.item(), step)
            print(f"step {step} loss {mean.item():.9f}")

dist.barrier()
dist.destroy_process_group()
