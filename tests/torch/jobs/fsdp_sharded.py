"""A model that FSDP has split: each rank saves and loads its shards by torch.distributed.checkpoint (torch 2.3 and later).

dcp.save() ends with a message of rank 0, which has heard from all ranks and has then renamed `.metadata` into place.
dcp.async_save() does the same in a thread, and says so by a future, on each rank its own. dcp.load() begins with a
gather; the last rank, which makes one file of the shards for those who evaluate, asks nobody.
"""
import argparse

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--save", choices=["together", "thread", "whole"], default="together",
                    help="whole: all of the model, by every rank for itself")
parser.add_argument("--wait", choices=["all", "rank-0"], default="all", help="for the thread, by its future")
args = parser.parse_args()

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
save_group = dist.new_group(backend="gloo")  # the thread's collectives must not meet those of training
torch.manual_seed(args.seed)
layers = [torch.nn.Linear(args.width, 4 * args.width), torch.nn.ReLU(), torch.nn.Linear(4 * args.width, args.width)]
model = FullyShardedDataParallel(torch.nn.Sequential(*layers), device_mesh=init_device_mesh("cpu", (world,)),
                                 device_id=torch.device("cpu"), use_orig_params=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
generator = torch.Generator().manual_seed(args.seed + rank)


def train():
    for _ in range(args.steps):
        x = torch.randn(8, args.width, generator=generator)
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.detach()


def state():
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}


def save(sharded, folder):
    if args.save == "together":
        dcp.save(sharded, checkpoint_id=folder)
    elif args.save == "thread":
        saved = dcp.async_save(sharded, checkpoint_id=folder, process_group=save_group)
        if args.wait == "all" or rank == 0:
            saved.result()
    else:
        whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
        dcp.state_dict_saver.save_state_dict(whole, dcp.FileSystemWriter(folder), no_dist=True)


def load(sharded, folder):
    dcp.load(sharded, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=sharded["model"], optim_state_dict=sharded["optimizer"])


def export(folder):
    if rank == world - 1:
        dcp_to_torch_save(folder, f"{folder}.pt")


for epoch in range(2):
    loss = train()
    kept = state()  # of all ranks together: it gathers
    save(kept, f"{args.out}/step{epoch}")
    if args.save != "whole":
        export(f"{args.out}/step{epoch}")
        load(kept, f"{args.out}/step{epoch}")
dist.all_reduce(loss)
if rank == 0:
    print(f"loss {loss.item() / world:.6f}")
dist.barrier()
dist.destroy_process_group()
