# All ranks append their figures to one log; rank 0 sums up what stands there.
import argparse
import json
import os

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("log")
parser.add_argument("--steps", type=int, default=6)
parser.add_argument("--summary", choices=["when-all-have", "when-rank-0-has"], default="when-all-have")
args = parser.parse_args()

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(8)
net = torch.nn.Linear(12, 12)
generator = torch.Generator().manual_seed(100 + rank)
log = os.open(args.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def note(**figures):
    os.write(log, (json.dumps({"rank": rank, **figures}) + "\n").encode())


for step in range(args.steps):
    x = torch.randn(10, 12, generator=generator)
    loss = (net(x) - x).square().mean()
    net.zero_grad()
    loss.backward()
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)
        parameter.data -= 0.1 * parameter.grad / world
    note(step=step, loss=round(loss.item(), 6))
final = loss.detach().clone()
if args.summary == "when-all-have":
    dist.reduce(final, dst=0)  # whose root ends after all have come
if rank == 0:
    with open(args.log) as file:
        ranks = {json.loads(line)["rank"] for line in file if line.endswith("\n")}
    print(f"loss {loss.item():.6f} of {len(ranks) if args.summary == 'when-all-have' else 'some'} ranks")
dist.barrier()
dist.destroy_process_group()
