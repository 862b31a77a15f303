"""Checkpoint folders are named after the time, so rank 0 makes up the name and broadcasts it (SpeechBrain's Checkpointer).

The others follow the broadcast and meet nowhere else; what comes back to rank 0 is a gather.
"""
import argparse
import os
import pathlib
import shutil
import time

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("save_dir", type=pathlib.Path)
parser.add_argument("--intervals", type=int, default=3)
parser.add_argument("--broadcast", choices=["after", "before"], default="after", help="... the folder is filled")
parser.add_argument("--late", type=float, default=0)
args = parser.parse_args()

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()


def new_folder(interval):
    return args.save_dir / f"CKPT+{time.strftime('%H-%M-%S')}+{interval:02d}"


def write(folder, weights, interval):
    folder.mkdir(parents=True)
    torch.save(weights, folder / "model.ckpt")
    (folder / "CKPT.yaml").write_text(f"interval: {interval}\nend-of-epoch: true\n")


def share(name):
    box = [str(name) if name else None]
    dist.broadcast_object_list(box, src=0)
    return pathlib.Path(box[0])


weights = torch.linspace(-1, 1, 300)
kept = None
for interval in range(args.intervals):
    gradient = weights * (1 + rank)
    dist.all_reduce(gradient)
    weights -= 0.1 * gradient / world
    folder = new_folder(interval) if rank == 0 else None
    if args.broadcast == "before":
        folder = share(folder)
    if rank == 0:
        write(folder, weights, interval)
    if args.broadcast == "after":
        folder = share(folder)
    if rank:
        time.sleep(args.late)
        weights = torch.load(folder / "model.ckpt")
        assert "end-of-epoch" in (folder / "CKPT.yaml").read_text()
    loaded = torch.tensor([float(rank)])
    dist.gather(loaded, [torch.zeros(1) for _ in range(world)] if rank == 0 else None, dst=0)
    if rank == 0:
        if kept:
            shutil.rmtree(kept)
        kept = folder
loss = weights.square().mean()
dist.all_reduce(loss)
if rank == 0:
    os.rename(kept, args.save_dir / "last")
    print(f"loss {loss.item() / world:.6f}")
dist.barrier()
dist.destroy_process_group()
