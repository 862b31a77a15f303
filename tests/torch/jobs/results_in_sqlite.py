"""Every rank adds its rows to one SQLite file: the library's own file locks are all that keeps them apart."""
import sqlite3
import sys

import torch
import torch.distributed as dist

path, steps = sys.argv[1], int(sys.argv[2])


def database():
    connection = sqlite3.connect(path, timeout=60)
    connection.execute("CREATE TABLE IF NOT EXISTS results (rank INTEGER, step INTEGER, loss REAL)")
    return connection


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
weight = torch.ones(32)
results = database()
for step in range(steps):
    x = torch.randn(32)
    gradient = weight * x * x
    dist.all_reduce(gradient)
    weight -= 0.05 * gradient / world
    loss = (weight * x).square().mean()
    with results:
        results.execute("INSERT INTO results VALUES (?, ?, ?)", (rank, step, loss.item()))
dist.barrier()
if rank == 0:
    rows, mean = results.execute("SELECT COUNT(*), AVG(loss) FROM results").fetchone()
    print(f"{rows} rows, mean loss {mean:.6f}", flush=True)
dist.barrier()
results.close()
