"""A regression averaged by hand on Gloo, in which one rank calls a collective otherwise than the others, or which resembles that.

torchrun --nproc_per_node 2 disagreeing_ranks.py --rank 1 --step 3 --differ reduction
"""
import argparse
import datetime

import torch
import torch.distributed as dist


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, default=1, help="that does it")
    parser.add_argument("--step", type=int, default=3, help="in which")
    parser.add_argument("--differ", choices=["reduction", "type", "root", "count", "operation", "groups", "shapes", "objects", "splits"])
    return parser.parse_args()


def share_loss(asked, odd, loss):
    """Returns what the others' losses come to; `odd`: on this rank it is done otherwise."""
    rank, world = dist.get_rank(), dist.get_world_size()
    if asked.differ == "reduction":
        worst = loss.detach().clone()
        dist.all_reduce(worst, dist.ReduceOp.MAX if not odd else dist.ReduceOp.SUM)  # of the loss
        return worst
    if asked.differ == "type":
        worst = loss.detach().clone() if not odd else loss.detach().round().to(torch.int32)
        dist.all_reduce(worst)  # of the loss
        return worst
    if asked.differ == "root":
        first = loss.detach().clone()
        dist.broadcast(first, 0 if not odd else max(rank, 1))  # of the loss
        return first
    if asked.differ == "count":
        both = torch.zeros(64 if not odd else 32)
        dist.all_reduce(both)  # of the loss
        return both
    if asked.differ == "operation":
        value = loss.detach().clone()
        (dist.all_reduce if not odd else lambda tensor: dist.broadcast(tensor, rank))(value)  # of the loss
        return value
    if asked.differ == "shapes":  # as many numbers
        both = torch.zeros(8, 4) if not odd else torch.zeros(4, 8).t().contiguous()
        dist.all_reduce(both)
        return both
    if asked.differ == "objects":  # of as many bytes as each rank wants
        texts = [None] * world
        dist.all_gather_object(texts, "x" * (10 + 1000 * odd))
        return torch.tensor(float(len(texts)))
    if asked.differ == "splits":  # what each sends to whom is its own
        counts = [1 + (rank + other) % 3 for other in range(world)]
        received = torch.zeros(sum(counts))
        dist.all_to_all_single(received, torch.zeros(sum(counts)), counts, counts)
        return received
    raise ValueError(asked.differ)


def main():
    asked = arguments()
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=8))
    rank, world = dist.get_rank(), dist.get_world_size()
    halves = [dist.new_group(list(range(half, world, 2))) for half in range(2)]
    torch.manual_seed(rank)
    weights = torch.zeros(256, requires_grad=True)
    kept = []
    for step in range(8):
        x = torch.randn(32, 256)
        loss = (x @ weights - x.sum(1)).square().mean()
        loss.backward()
        dist.all_reduce(weights.grad)
        with torch.no_grad():
            weights -= 1e-3 * weights.grad / world
        if asked.differ == "groups":  # at one line, each half its own way
            value = loss.detach().clone()
            dist.all_reduce(value, dist.ReduceOp.MAX if rank % 2 else dist.ReduceOp.SUM, group=halves[rank % 2])
        elif asked.differ:
            value = share_loss(asked, rank == asked.rank and step == asked.step, loss)
        kept += [weights.grad, value]
        weights.grad = None
    print(f"rank {rank}: loss {loss.item():.3f}")
    dist.barrier()
    return kept, halves


if __name__ == "__main__":
    kept = main()
    dist.destroy_process_group()
