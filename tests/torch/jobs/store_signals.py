# Ranks that tell each other through the key-value store what is ready, without a barrier. Rank 0 serves the store itself:
# started by a plain loop, no launcher.
import os
import sys
import time

import torch
import torch.distributed as dist

folder, key, late = sys.argv[1], sys.argv[2], float(sys.argv[3])
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), world, rank == 0)
torch.manual_seed(5)

path = os.path.join(folder, "vocabulary.pt")
if rank == 0:
    os.makedirs(folder, exist_ok=True)
    store.set("folder", folder)
    torch.save(torch.randperm(1000), path)
    store.set("vocabulary", path)
else:
    store.wait([key])
    time.sleep(late)
vocabulary = torch.load(path)

dist.init_process_group("gloo", store=dist.PrefixStore("group", store), rank=rank, world_size=world)
table = torch.nn.Embedding(1000, 8)
for part in vocabulary.tensor_split(world)[rank].split(100):
    loss = (table(part) ** 2).mean()
    loss.backward()
    dist.all_reduce(table.weight.grad)
    with torch.no_grad():
        table.weight -= table.weight.grad
    table.weight.grad = None
total = loss.detach().clone()
dist.all_reduce(total)

# Each one's part of the table, counted in at the store by who has written it; rank 0 puts them together.
torch.save(table.weight[rank::world].detach().clone(), os.path.join(folder, f"part{rank}.pt"))
store.add("written", 1)
if rank == 0:
    while store.add("written", 0) < world:
        time.sleep(0.02)
    parts = [torch.load(os.path.join(folder, f"part{r}.pt")) for r in range(world)]
    print(f"loss {total.item():.6f} rows {sum(len(part) for part in parts)}", flush=True)
    store.set("done", "1")
store.wait(["done"])
dist.barrier()
dist.destroy_process_group()
