"""Two ranks a "node": a leader prepares for its node, and only the node waits for it."""
import argparse
import os
import time

import numpy as np
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("--per-node", type=int, default=2)
parser.add_argument("--statistics", choices=["world", "node"], default="world", help="who waits for the statistics of all")
parser.add_argument("--late", type=float, default=0, help="seconds that all nodes but the first take longer")
parser.add_argument("--rounds", type=int, default=3)
args = parser.parse_args()

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
nodes = [list(range(first, min(first + args.per_node, world))) for first in range(0, world, args.per_node)]
groups = [dist.new_group(node) for node in nodes]
node = rank // args.per_node
leader = rank == nodes[node][0]
os.makedirs(args.out, exist_ok=True)

for number in range(args.rounds):
    local = f"{args.out}/node{node}_{number}.npz"
    if leader:
        np.savez(local, x=np.random.default_rng([number, node]).normal(size=(64, 8)))
    dist.barrier(group=groups[node])
    x = torch.from_numpy(np.load(local)["x"])[rank - nodes[node][0]::len(nodes[node])]

    statistics = f"{args.out}/statistics{number}.npz"
    if rank == 0:
        np.savez(statistics, mean=np.full(8, number, np.float64))
    dist.barrier(group=None if args.statistics == "world" else groups[node])
    if node > 0:
        time.sleep(args.late)
    mean = np.load(statistics)["mean"]
    loss = ((x - torch.from_numpy(mean)) ** 2).mean()
    dist.all_reduce(loss)
    if rank == 0:
        print(f"round {number} loss {loss.item() / world:.6f}")
dist.barrier()
dist.destroy_process_group()
