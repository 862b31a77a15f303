"""A pipeline by hand: each rank has a layer, sends what comes out to the next one, and gets its gradient back."""
import argparse
import os

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--micro-batches", type=int, default=3)
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--width", type=int, default=24)
parser.add_argument("--batched", action="store_true", help="sends by batch_isend_irecv")
args = parser.parse_args()

gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
dist.init_process_group("nccl", device_id=torch.device("cuda", gpu))
rank, world = dist.get_rank(), dist.get_world_size()
first, last = rank == 0, rank == world - 1
torch.manual_seed(rank)
layer = torch.nn.Linear(args.width, args.width).cuda()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
inputs = torch.Generator().manual_seed(77)


def exchange(kind, tensor, peer):
    if args.batched:
        for work in dist.batch_isend_irecv([dist.P2POp(getattr(dist, f"i{kind}"), tensor, peer)]):
            work.wait()
    else:
        getattr(dist, kind)(tensor, peer)
    return tensor


def micro_batch():
    x = torch.randn(4, args.width, generator=inputs).cuda()
    if not first:
        x = exchange("recv", torch.empty_like(x), rank - 1).requires_grad_()
    y = torch.tanh(layer(x))
    if last:
        loss = y.square().mean() / args.micro_batches
        loss.backward()
    else:
        exchange("send", y.detach(), rank + 1)
        loss = None
        y.backward(exchange("recv", torch.empty_like(y), rank + 1))
    if not first:
        exchange("send", x.grad, rank - 1)
    return loss


for step in range(args.steps):
    losses = [micro_batch() for _ in range(args.micro_batches)]
    optimizer.step()
    optimizer.zero_grad()
if last:
    print("loss", sum(loss.item() for loss in losses))
dist.barrier()
dist.destroy_process_group()
