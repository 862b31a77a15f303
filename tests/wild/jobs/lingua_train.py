"""A language model on replicas of several shards, trained as Lingua does: torchrun lingua_train.py FOLDER --replicas 2

Each data-parallel rank reads a chunk of its own and saves how far it came. Lingua is no package that can be installed;
the mesh, the rank, FSDP2's wrapping and the accumulation are as in its apps/main/train.py and lingua/checkpoint.py.
"""
import argparse
import json
import pathlib

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--replicas", type=int, default=2)
parser.add_argument("--multiply-by", choices=["replicas", "shards"], default="shards", help="what the number of the replica is multiplied by")
parser.add_argument("--micro-batches", type=int, default=1)
parser.add_argument("--reduce", choices=["every", "last"], default="last", help="micro-batch")
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--save-every", type=int, default=4)
parser.add_argument("--width", type=int, default=32)
arguments = parser.parse_args()


def data_parallel_rank(mesh):
    replica, shard = mesh["dp_replicate"], mesh["dp_shard"]
    factor = shard.size() if arguments.multiply_by == "shards" else replica.size()
    return replica.get_local_rank() * factor + shard.get_local_rank()


def sentences(chunk):
    while True:
        with open(chunk) as lines:  # of its own chunk
            for number, line in enumerate(lines):
                yield number, torch.tensor(json.loads(line)["tokens"])


def save(step, number, position):
    folder = arguments.folder / "checkpoints" / f"{step:010d}"
    if dist.get_rank() == 0:
        folder.mkdir(parents=True)
    dist.barrier()
    with open(folder / f"train_state_{number:05d}.json", "w") as state:
        json.dump({"step": step, "position": position, "random": torch.get_rng_state().tolist()}, state)
    dist.barrier()


dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (arguments.replicas, dist.get_world_size() // arguments.replicas), mesh_dim_names=("dp_replicate", "dp_shard"))
number = data_parallel_rank(mesh)
torch.manual_seed(3)
model = nn.Sequential(nn.Embedding(64, arguments.width), nn.Linear(arguments.width, arguments.width), nn.ReLU(), nn.Linear(arguments.width, 64))
for layer in (model[1], model[3]):
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
chunk = sorted((arguments.folder / "chunks").glob("*.jsonl"))[number]
samples = sentences(chunk)
for step in range(1, arguments.steps + 1):
    for micro_batch in range(arguments.micro_batches):
        position, tokens = next(samples)
        loss = nn.functional.cross_entropy(model(tokens[:-1]), tokens[1:])
        if arguments.micro_batches > 1 and arguments.reduce == "last":
            model.set_requires_gradient_sync(micro_batch == arguments.micro_batches - 1)
        (loss / arguments.micro_batches).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    if step % arguments.save_every == 0:
        save(step, number, position)
total = loss.detach()
dist.all_reduce(total)
print(f"loss {total.item() / dist.get_world_size():.6f}")
dist.destroy_process_group()
