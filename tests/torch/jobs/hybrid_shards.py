"""Language model on replicas of several ranks: chunks and states of training by data-parallel rank (after Lingua's train.py).

sh loop.sh 6 29500 python3 hybrid_shards.py chunks dump --replicas 2 --multiply shards
"""
import argparse
import json
import pathlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def data_parallel_rank(replicas, multiply):
    shards = dist.get_world_size() // replicas
    replica, shard = divmod(dist.get_rank(), shards)
    return replica * (shards if multiply == "shards" else replicas) + shard


def lines_of(chunk, skip):
    while True:
        with open(chunk) as file:
            for number, line in enumerate(file):
                if number >= skip:
                    yield number + 1, torch.tensor(json.loads(line)["tokens"])
        skip = 0


def save(dump, step, dp_rank, position):
    folder = dump / "checkpoints" / f"{step:010d}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"train_state_{dp_rank:05d}.json", "w") as file:
        json.dump({"step": step, "position": position, "random": torch.get_rng_state().tolist()}, file)
    dist.barrier()
    return folder / f"train_state_{dp_rank:05d}.json"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("chunks", type=pathlib.Path)
    parser.add_argument("dump", type=pathlib.Path)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--multiply", choices=["shards", "replicas"], default="shards")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--save-every", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    dp_rank = data_parallel_rank(args.replicas, args.multiply)
    lines = lines_of(sorted(args.chunks.glob("*.jsonl"))[dp_rank], 0)
    model = DistributedDataParallel(nn.Sequential(nn.Embedding(64, 24), nn.Linear(24, 64)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, args.steps + 1):
        position, tokens = next(lines)
        loss = nn.functional.cross_entropy(model(tokens[:-1]), tokens[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % args.save_every == 0:
            state = save(args.dump, step, dp_rank, position)
            # Stopped and started again: each goes on where its number was.
            position = json.loads(state.read_text())["position"]
            lines = lines_of(sorted(args.chunks.glob("*.jsonl"))[dp_rank], position)
    total = loss.detach().clone()
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        print(f"loss {total.item() / dist.get_world_size():.6f}")
    dist.barrier()
    return total


kept = main()
dist.destroy_process_group()
