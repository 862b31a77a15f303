"""Keyword spotting on shards of clips, streamed: each rank has shards of its own, or keeps every n-th clip of all shards.

torchrun --nproc_per_node 2 shard_streams.py corpus --kind tars --split shards
"""
import argparse
import json
import pathlib
import random
import tarfile

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


def tar_clips(path):
    with tarfile.open(path, "r|") as tar:
        for member in tar:
            word = int(member.name.split(".")[1])
            yield np.frombuffer(tar.extractfile(member).read(), dtype=np.int16), word


def chunk_clips(path):
    chunk = torch.load(path)
    yield from zip(chunk["waves"].numpy(), chunk["words"].tolist())


def line_clips(path):
    with open(path) as lines:
        for line in lines:
            row = json.loads(line)
            yield np.array(row["wave"], dtype=np.int16), row["word"]


KINDS = {"tars": ("*.tar", tar_clips), "chunks": ("*.pt", chunk_clips), "lines": ("*.jsonl", line_clips)}


class Stream(IterableDataset):
    def __init__(self, root, a, rank, world):
        pattern, self.read = KINDS[a.kind]
        self.shards = sorted(pathlib.Path(root).glob(pattern))
        self.a, self.rank, self.world, self.epoch = a, rank, world, 0

    def clips(self, shards):
        held = []
        for shard in shards:
            for clip in self.read(shard):
                held.append(clip)
                if len(held) >= self.a.buffer:
                    yield held.pop(random.randrange(len(held)))
        yield from held

    def __iter__(self):
        worker = get_worker_info()
        part, parts = (worker.id, worker.num_workers) if worker else (0, 1)
        if self.a.split != "nobody":
            part, parts = self.rank * parts + part, self.world * parts
        shards = list(self.shards)
        if self.a.shuffle:
            random.Random(self.epoch).shuffle(shards)
        if self.a.split == "shards":
            clips = self.clips(shards[part::parts])
        else:
            clips = (clip for i, clip in enumerate(self.clips(shards)) if i % parts == part)
        for wave, word in clips:
            yield torch.from_numpy(wave.astype(np.float32)) / 2**15, word


def dispatched(batches, size, rank):
    """Rank 0 reads for all, and sends the others theirs."""
    count = torch.tensor([0])
    batches = iter(batches) if rank == 0 else None
    while True:
        batch = next(batches, None) if rank == 0 else None
        count[0] = 0 if batch is None else len(batch[1])
        dist.broadcast(count, 0)
        if not count.item():
            return
        waves, words = batch if rank == 0 else (torch.empty(count.item(), size), torch.empty(count.item(), dtype=torch.int64))
        dist.broadcast(waves, 0)
        dist.broadcast(words, 0)
        yield waves[rank::dist.get_world_size()], words[rank::dist.get_world_size()]


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--kind", choices=KINDS, default="tars")
    parser.add_argument("--split", choices=["shards", "clips", "nobody", "dispatched"], default="shards")
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--buffer", type=int, default=1)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--size", type=int, default=500)
    return parser.parse_args()


def main():
    a = parse()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    random.seed(rank)
    alone = a.split == "dispatched"
    stream = Stream(a.root, a, 0 if alone else rank, 1 if alone else world)
    loader = DataLoader(stream, batch_size=4 * (world if alone else 1), num_workers=a.workers, drop_last=True)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(a.size, 40), torch.nn.ReLU(), torch.nn.Linear(40, 4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(a.epochs):
        stream.epoch = epoch
        for waves, words in dispatched(loader, a.size, rank) if alone else loader:
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(waves), words)
            loss.backward()
            optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"epoch {epoch} loss {mean.item() / world:.6f}")
    dist.barrier()
    return mean


if __name__ == "__main__":
    kept = main()
    dist.destroy_process_group()
