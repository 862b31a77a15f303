"""Tensor parallel layers (Colwise, Rowwise), and replicas of them where there are four ranks; micro-batches add up."""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

parser = argparse.ArgumentParser()
parser.add_argument("--tensor", type=int, default=2, help="ranks that share a model")
parser.add_argument("--micro-batches", type=int, default=2)
parser.add_argument("--steps", type=int, default=5)
parser.add_argument("--width", type=int, default=32)
args = parser.parse_args()


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
world = int(os.environ["WORLD_SIZE"])
mesh = init_device_mesh("cuda", (world // args.tensor, args.tensor), mesh_dim_names=("dp", "tp"))
torch.manual_seed(0)
model = nn.Sequential(FeedForward(args.width), FeedForward(args.width), nn.Linear(args.width, 1)).cuda()
plan = {f"{i}.{name}": style for i in range(2) for name, style in (("up", ColwiseParallel()), ("down", RowwiseParallel()))}
model = parallelize_module(model, mesh["tp"], plan)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)  # tensors of both kinds
replica = mesh["dp"].get_local_rank()
torch.manual_seed(9 + replica)
for step in range(args.steps):
    for micro in range(args.micro_batches):
        x = torch.randn(8, args.width, device="cuda")
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean() / args.micro_batches
        loss.backward()
    if mesh["dp"].size() > 1:
        for parameter in model.parameters():
            gradient = parameter.grad.to_local() if hasattr(parameter.grad, "to_local") else parameter.grad
            dist.all_reduce(gradient, op=dist.ReduceOp.AVG, group=mesh.get_group("dp"))
    optimizer.step()
    optimizer.zero_grad()
if dist.get_rank() == 0:
    print("loss", loss.item())
dist.barrier()
dist.destroy_process_group()
