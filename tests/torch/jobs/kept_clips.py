"""Keyword spotting on clips that are kept in one of several ways; samplers and loaders as people set them up.

torchrun --nproc_per_node 2 kept_clips.py corpus --store packed --start spawn --sampler distributed
"""
import argparse
import os
import pickle
import random
import sqlite3
import tarfile
import wave

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, RandomSampler, Sampler, WeightedRandomSampler


class Raw:
    """A file a clip: the bytes of its samples."""

    def __init__(self, root):
        self.root = root

    def load(self, name):
        return np.fromfile(os.path.join(self.root, "clips", name + ".raw"), dtype=np.int16)


class Array(Raw):
    def load(self, name):
        return np.load(os.path.join(self.root, "clips", name + ".npy"))


class Saved(Raw):
    def load(self, name):
        return torch.load(os.path.join(self.root, "clips", name + ".pt"))["wave"].numpy()


class Pickled(Raw):
    def load(self, name):
        with open(os.path.join(self.root, "clips", name + ".pkl"), "rb") as file:
            return pickle.load(file)["wave"]


class Wave(Raw):
    def load(self, name):
        with wave.open(os.path.join(self.root, "clips", name + ".wav")) as clip:
            return np.frombuffer(clip.readframes(clip.getnframes()), dtype=np.int16)


class Packed:
    """All clips in one file, and where each begins."""

    def __init__(self, root):
        self.path = os.path.join(root, "clips.bin")
        with open(os.path.join(root, "index.pkl"), "rb") as file:
            self.places = pickle.load(file)
        self.file = None  # of its own in each process

    def load(self, name):
        if self.file is None:
            self.file = open(self.path, "rb")
        begin, size = self.places[name]
        self.file.seek(begin)
        return np.frombuffer(self.file.read(size), dtype=np.int16)


class Pread(Packed):
    def load(self, name):
        if self.file is None:
            self.file = os.open(self.path, os.O_RDONLY)
        begin, size = self.places[name]
        return np.frombuffer(os.pread(self.file, size, begin), dtype=np.int16)


class Mapped(Packed):
    def load(self, name):
        if self.file is None:
            self.file = np.memmap(self.path, dtype=np.int16, mode="r")
        begin, size = self.places[name]
        return np.array(self.file[begin // 2:(begin + size) // 2])


class Rows(Packed):
    """One database."""

    def __init__(self, root):
        self.path, self.base = os.path.join(root, "clips.sqlite"), None

    def load(self, name):
        if self.base is None:
            self.base = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        (blob,) = self.base.execute("SELECT wave FROM clips WHERE name = ?", (name,)).fetchone()
        return np.frombuffer(blob, dtype=np.int16)


class Members(Packed):
    """One tar file."""

    def __init__(self, root):
        self.path, self.tar = os.path.join(root, "clips.tar"), None

    def load(self, name):
        if self.tar is None:
            self.tar = tarfile.open(self.path)
            self.members = {member.name: member for member in self.tar}
        return np.frombuffer(self.tar.extractfile(self.members[name + ".raw"]).read(), dtype=np.int16)


class Zipped(Packed):
    """One archive of NumPy."""

    def __init__(self, root):
        self.path, self.archive = os.path.join(root, "clips.npz"), None

    def load(self, name):
        if self.archive is None:
            self.archive = np.load(self.path)
        return self.archive[name]


STORES = {"raw": Raw, "array": Array, "saved": Saved, "pickled": Pickled, "wave": Wave, "packed": Packed,
          "pread": Pread, "mapped": Mapped, "rows": Rows, "members": Members, "zipped": Zipped}


class Clips(Dataset):
    def __init__(self, root, store, draw):
        self.store, self.draw = STORES[store](root), draw
        with open(os.path.join(root, "metadata.csv")) as table:
            rows = [line.split("|") for line in table]
        self.clips = [(name, int(length), int(word)) for name, length, word in rows]

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, index):
        # Rare words would be heard too seldom otherwise.
        name, _, word = random.choice(self.clips) if self.draw else self.clips[index]
        samples = self.store.load(name)
        return F.adaptive_avg_pool1d(torch.from_numpy(samples.astype(np.float32))[None] / 2**15, 400)[0], word


class ByLength(Sampler):
    """Short clips first, and each rank its part of them."""

    def __init__(self, lengths, rank, world):
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        self.mine = order[rank:len(order) // world * world:world]

    def __iter__(self):
        return iter(self.mine)

    def __len__(self):
        return len(self.mine)


class Buckets(Sampler):
    """Batches of clips of like length; batches are dealt out to the ranks, in an order of each epoch's own."""

    def __init__(self, lengths, rank, world, size=4):
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        self.batches = [order[i:i + size] for i in range(0, len(order), size)]
        self.rank, self.world, self.epoch = rank, world, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        order = random.Random(self.epoch).sample(self.batches, len(self.batches))
        return iter(order[:len(self) * self.world][self.rank::self.world])

    def __len__(self):
        return len(self.batches) // self.world


def build_sampler(kind, clips, seed, rank, world):
    lengths = [length for _, length, _ in clips.clips]
    own = torch.Generator().manual_seed(seed + rank)
    if kind == "none":
        return None
    if kind == "own-shuffle":
        return RandomSampler(clips, generator=own)
    if kind == "weighted":
        return WeightedRandomSampler([1 + word for _, _, word in clips.clips], len(clips) // world, generator=own)
    if kind == "by-length":
        return ByLength(lengths, rank, world)
    if kind == "buckets":
        return Buckets(lengths, rank, world)
    return DistributedSampler(clips, shuffle=kind != "as-listed", seed=seed)


def build_loader(clips, sampler, a):
    options = {"num_workers": a.workers, "persistent_workers": a.persistent}
    if a.workers:
        options |= {"multiprocessing_context": a.start, "prefetch_factor": a.prefetch}
    if a.sampler == "buckets":
        return DataLoader(clips, batch_sampler=sampler, **options)
    return DataLoader(clips, batch_size=4, sampler=sampler, shuffle=sampler is None, drop_last=True, **options)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--store", choices=STORES, default="raw")
    parser.add_argument("--sampler", default="distributed", choices=[
        "distributed", "no-set-epoch", "none", "ignored-index", "own-shuffle", "as-listed", "by-length", "buckets", "weighted"])
    parser.add_argument("--start", choices=["fork", "spawn", "forkserver"], default="fork")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--prefetch", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--evaluate", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    a = parse()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(a.seed)
    random.seed(a.seed)
    clips = Clips(a.root, a.store, draw=a.sampler == "ignored-index")
    sampler = build_sampler(a.sampler, clips, a.seed, rank, world)
    loader = build_loader(clips, sampler, a)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(400, 40), torch.nn.ReLU(), torch.nn.Linear(40, 4)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(a.epochs):
        if a.sampler != "no-set-epoch" and hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)
        for samples, word in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(samples), word)
            loss.backward()
            optimizer.step()
        mean = loss.detach().clone()
        if a.evaluate:
            with torch.no_grad():
                batches = DataLoader(clips, batch_size=16, num_workers=min(a.workers, 1))
                mean += sum(F.cross_entropy(model.module(samples), word) for samples, word in batches)
        dist.all_reduce(mean)
        if rank == 0:
            print(f"epoch {epoch} loss {mean.item() / world:.6f}")
    dist.barrier()
    return mean


if __name__ == "__main__":
    kept = main()
    dist.destroy_process_group()
