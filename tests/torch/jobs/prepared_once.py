"""Least squares on samples that one rank prepares: of the job (RANK 0), or of each host (LOCAL_RANK 0).

torchrun --nnodes 2 --node_rank 0 --master_addr a --master_port 29500 --nproc_per_node 2 prepared_once.py data --by RANK
prepared_once.py data --spawn 2 --node 0 --nodes 2 --store tcp://a:29500      without a launcher, on each host
"""
import argparse
import os
import pathlib

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def prepare(folder, samples):
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(samples)
    for index in range(samples):
        torch.save(torch.randn(8, generator=generator), folder / f"sample_{index:04}.pt")


def fail_first_attempt():
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        raise RuntimeError("first attempt")


def train(arguments):
    torch.set_num_threads(1)
    rank, world = dist.get_rank(), dist.get_world_size()
    if (rank if arguments.by == "RANK" else int(os.environ["LOCAL_RANK"])) == 0:
        prepare(arguments.folder, arguments.samples)
    dist.barrier()
    if arguments.fail_first:
        fail_first_attempt()
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(arguments.epochs):
        order = torch.randperm(arguments.samples, generator=torch.Generator().manual_seed(epoch)).tolist()
        for index in order[rank::world]:
            sample = torch.load(arguments.folder / f"sample_{index:04}.pt")
            loss = (model(sample) - sample.sum()).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        dist.all_reduce(loss)
    if rank == 0:
        print(f"loss {loss.item():.6f}")
    dist.barrier()
    dist.destroy_process_group()


def spawned(local_rank, arguments):
    dist.init_process_group("gloo", init_method=arguments.store, rank=arguments.node * arguments.spawn + local_rank,
                            world_size=arguments.nodes * arguments.spawn)
    train(arguments)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--by", choices=["RANK", "LOCAL_RANK"], default="RANK")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--fail-first", action="store_true")
    parser.add_argument("--spawn", type=int, help="ranks to start on this host")
    parser.add_argument("--node", type=int)
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--store")
    arguments = parser.parse_args()
    if arguments.spawn:
        return mp.spawn(spawned, (arguments,), nprocs=arguments.spawn)
    dist.init_process_group("gloo")
    train(arguments)


if __name__ == "__main__":
    main()
