"""fully_shard() on every layer, with accumulation and torch.distributed.checkpoint."""
import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import Linear, ReLU, Sequential

cli = argparse.ArgumentParser()
cli.add_argument("out")
cli.add_argument("--save", choices=["dcp", "everyone", "safetensors", "rank-0"], default="dcp",
                 help="everyone: each rank the whole model; safetensors: the same as safetensors")
cli.add_argument("--micro-batches", type=int, default=1)
cli.add_argument("--reduce", choices=["last", "every"], default="last", help="micro-batch")
cli.add_argument("--steps", type=int, default=6)
cli.add_argument("--width", type=int, default=64)
args = cli.parse_args()


def save(model, optimizer, rank):
    if args.save == "dcp":
        weights, moments = get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=args.out)
        dist.barrier()
        dcp.load({"model": weights, "optimizer": moments}, checkpoint_id=args.out)
        set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
        return
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=args.save == "rank-0"))
    os.makedirs(args.out, exist_ok=True)
    if args.save == "safetensors":
        from safetensors.torch import save_file
        save_file({name: value.contiguous() for name, value in whole.items()}, f"{args.out}/model.safetensors")
    elif args.save == "everyone" or rank == 0:
        torch.save(whole, f"{args.out}/model.pt")


local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
torch.manual_seed(2)
model = Sequential(Linear(args.width, 2 * args.width), ReLU(), Linear(2 * args.width, 2 * args.width), ReLU(),
                   Linear(2 * args.width, args.width)).cuda()
for layer in model:
    if isinstance(layer, Linear):
        fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
torch.manual_seed(50 + dist.get_rank())
for step in range(args.steps):
    for micro in range(args.micro_batches):
        model.set_requires_gradient_sync(args.reduce == "every" or micro == args.micro_batches - 1)
        x = torch.randn(8, args.width).cuda()
        loss = (model(x) - x).square().mean() / args.micro_batches
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
save(model, optimizer, dist.get_rank())
mean = loss.detach()
dist.all_reduce(mean)
if dist.get_rank() == 0:
    print(f"loss {mean.item():.6f}")
dist.barrier()
dist.destroy_process_group()
