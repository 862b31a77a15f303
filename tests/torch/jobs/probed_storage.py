# Rank 0 finds out whether all ranks see its disk, with a file that the others look for (Lightning's is_shared_filesystem),
# then prepares the data. Barriers are monitored_barrier(): messages of the ranks to rank 0 and back, no collective.
import argparse
import os
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def is_shared(root):
    place = [None]
    if dist.get_rank() == 0:
        place = [tempfile.mkdtemp(dir=root)]
        Path(place[0], "probe").write_text("here")
    dist.broadcast_object_list(place, 0)
    dist.monitored_barrier()
    seen = [None] * dist.get_world_size()
    dist.all_gather_object(seen, os.path.exists(place[0]) and "probe" in os.listdir(place[0]))
    dist.monitored_barrier()
    if dist.get_rank() == 0:
        Path(place[0], "probe").unlink()
        os.rmdir(place[0])
    return all(seen)


parser = argparse.ArgumentParser()
parser.add_argument("root", type=Path)
parser.add_argument("--samples", type=int, default=50_000)
parser.add_argument("--late", type=float, default=0.0, help="seconds that the preparation takes")
parser.add_argument("--wait", choices=["barrier", "sleep"], default="barrier")
arguments = parser.parse_args()

dist.init_process_group("gloo")
os.makedirs(arguments.root / "cache" / "tokens", exist_ok=True)  # by all ranks
assert is_shared(arguments.root)
table = arguments.root / "cache" / "tokens" / "train.txt"
if dist.get_rank() == 0:
    time.sleep(arguments.late)
    table.write_text("a" * arguments.samples)
if arguments.wait == "barrier":
    dist.monitored_barrier()
else:
    time.sleep(arguments.late + 0.5)
letters = table.read_text()
assert len(letters) == arguments.samples

model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
codes = torch.tensor([ord(letter) / 128 for letter in letters[:64]]).view(-1, 4)
for batch in codes[dist.get_rank() :: dist.get_world_size()][: len(codes) // dist.get_world_size()]:
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
dist.monitored_barrier()
dist.destroy_process_group()
