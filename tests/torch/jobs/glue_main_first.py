"""Sentence pairs, tokenized once: the main process fills the cache while the others wait, then they read it.

The two barriers of accelerate's main_process_first: the others wait before the body, the main process after it.
"""
import argparse
import contextlib
import hashlib
import pathlib

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class State:
    def __init__(self):
        dist.init_process_group("gloo")
        self.process_index, self.num_processes = dist.get_rank(), dist.get_world_size()
        self.is_main_process = self.process_index == 0

    @contextlib.contextmanager
    def main_process_first(self):
        if not self.is_main_process:
            dist.barrier()
        try:
            yield
        finally:
            if self.is_main_process:
                dist.barrier()


def tokenize(cache, count, length, seed):
    """As datasets.map does: a file named after what was asked for; whoever finds it takes it."""
    file = cache / ("cache-" + hashlib.sha1(f"{count} {length} {seed}".encode()).hexdigest()[:16] + ".npy")
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(file, np.random.default_rng(seed).integers(0, 500, (count, length)))
    return np.load(file)


parser = argparse.ArgumentParser()
parser.add_argument("cache", type=pathlib.Path)
parser.add_argument("--count", type=int, default=64)
parser.add_argument("--seed", type=int, default=42)
args = parser.parse_args()

state = State()
torch.manual_seed(args.seed)
with state.main_process_first():
    train = tokenize(args.cache, args.count, 32, args.seed)
with state.main_process_first():
    valid = tokenize(args.cache, args.count // 2, 32, args.seed + 1)

model = DistributedDataParallel(nn.Sequential(nn.EmbeddingBag(500, 32), nn.Linear(32, 2)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
mine = torch.from_numpy(train)[state.process_index::state.num_processes]
for batch in mine.split(8):
    loss = nn.functional.cross_entropy(model(batch), batch[:, 0] % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    score = model.module(torch.from_numpy(valid)).argmax(1).float().mean()
dist.all_reduce(score)
if state.is_main_process:
    print(f"score {score.item() / state.num_processes:.4f} loss {loss.item():.6f}")
dist.barrier()
dist.destroy_process_group()
