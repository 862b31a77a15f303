"""Every rank writes its part of the model as safetensors; rank 0 adds the index of what was gathered from all."""
import argparse
import json
import pathlib

import torch
import torch.distributed as dist
from safetensors import safe_open
from safetensors.torch import save_file

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--width", type=int, default=64)
parser.add_argument("--whole", action="store_true", help="every rank writes all of it, under one name")
args = parser.parse_args()

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(9)
layers = {f"layers.{i}.weight": torch.randn(args.width, args.width) for i in range(args.layers)}
x = torch.ones(args.width)
for weight in layers.values():
    x = torch.tanh(weight @ x / args.width ** 0.5)
loss = x.square().mean()
dist.all_reduce(loss)


def save_whole():
    save_file(layers, args.folder / "model.safetensors", metadata={"format": "pt"})
    return ["model.safetensors"]


def save_part():
    name = f"model-{rank + 1:05d}-of-{world:05d}.safetensors"
    mine = {key: layers[key] for key in sorted(layers)[rank::world]}
    save_file(mine, args.folder / name, metadata={"format": "pt"})
    parts = [None] * world if rank == 0 else None
    dist.gather_object((name, sorted(mine)), parts, dst=0)
    if rank == 0:
        index = {key: part for part, keys in parts for key in keys}
        (args.folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}, indent=1))
    dist.barrier()
    index = json.loads((args.folder / "model.safetensors.index.json").read_text())["weight_map"]
    return sorted(set(index.values()))


args.folder.mkdir(parents=True, exist_ok=True)
files = save_whole() if args.whole else save_part()
dist.barrier()
restored = {}
for name in files:
    with safe_open(args.folder / name, framework="pt") as file:
        restored.update({key: file.get_tensor(key) for key in file.keys()})
assert all(torch.equal(restored[key], layers[key]) for key in layers)
if rank == 0:
    print(f"loss {loss.item() / world:.6f}, {len(files)} files")
dist.barrier()
dist.destroy_process_group()
