"""average_gradients() of the first distributed tutorial: one all-reduce a parameter, when all of backward is over."""
import argparse
import os

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--batch", type=int, default=16)
args = parser.parse_args()


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
torch.manual_seed(1234)
model = torch.nn.Sequential(*(torch.nn.Linear(args.width, args.width) for _ in range(args.layers))).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
torch.manual_seed(dist.get_rank())
for step in range(args.steps):
    optimizer.zero_grad()
    loss = model(torch.randn(args.batch, args.width, device="cuda")).square().mean()
    loss.backward()
    average_gradients(model)
    optimizer.step()
if dist.get_rank() == 0:
    print("loss", loss.item())
dist.barrier()
dist.destroy_process_group()
