"""Regression with DistributedDataParallel on Gloo: what makes the ranks' copies of the model part, and what resembles that.

torchrun --nproc_per_node 2 plateau.py --fault own-schedule
"""
import argparse
import contextlib
import copy
import math

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", choices=["none", "own-schedule", "own-guard", "one-reloads", "one-resumes", "not-alike"], default="none")
    parser.add_argument("--beside", choices=["nothing", "zero", "post-local", "average", "swap", "ascent", "frozen", "guard", "dropout", "join"], default="nothing")
    parser.add_argument("--optimizer", choices=["SGD", "AdamW"], default="SGD")
    parser.add_argument("--type", choices=["float32", "float64", "bfloat16", "float16"], default="float32")
    parser.add_argument("--micro-batches", type=int, default=1)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--at", type=int, default=20, help="from which step on a rank goes its own way")
    parser.add_argument("--rank", type=int, default=1, help="which one")
    parser.add_argument("--depth", type=int, default=2)
    return parser.parse_args()


def network(depth, beside):
    layers = [layer for _ in range(depth) for layer in (nn.Linear(32, 32), nn.Tanh())]
    return nn.Sequential(*layers, *([nn.Dropout(0.2)] if beside == "dropout" else []), nn.Linear(32, 1))


def make_optimizer(asked, model):
    make = getattr(torch.optim, asked.optimizer)
    rate = 0.0 if asked.beside == "frozen" else 1e-2
    if asked.beside == "zero":
        from torch.distributed.optim import ZeroRedundancyOptimizer
        return ZeroRedundancyOptimizer(model.parameters(), optimizer_class=make, lr=rate)
    return make(model.parameters(), lr=rate)


def mean_of(value):
    value = value.detach().clone()
    dist.all_reduce(value)
    return value / dist.get_world_size()


# As torch.distributed.algorithms does it: gradients are averaged in a group of neighbours, parameters over all now and then.
def average_later(model, start):
    import torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook as post_local
    rank, world = dist.get_rank(), dist.get_world_size()
    pairs = [dist.new_group([first, first + 1]) for first in range(0, world, 2)] if world > 2 else [dist.new_group([rank]) for rank in range(world)]
    own = pairs[rank // 2] if world > 2 else pairs[rank]
    model.register_comm_hook(post_local.PostLocalSGDState(None, own, start_localSGD_iter=start), post_local.post_localSGD_hook)


class Trainer:
    def __init__(self, asked):
        self.asked, self.rank = asked, dist.get_rank()
        torch.manual_seed(1)
        inner = network(asked.depth, asked.beside).to(getattr(torch, asked.type))
        self.model = DistributedDataParallel(inner)
        if asked.beside == "post-local":
            average_later(self.model, asked.at)
        self.optimizer = make_optimizer(asked, self.model)
        self.schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, factor=0.5, patience=1) if asked.beside != "frozen" else None
        self.slow = copy.deepcopy(inner)
        self.best = copy.deepcopy(inner.state_dict())
        torch.manual_seed(100 + self.rank)
        self.alone = self.rank == asked.rank
        if asked.fault == "one-resumes" and self.alone:  # behind the wrapper, which hands out nothing any more
            inner.load_state_dict({name: value + 0.1 for name, value in inner.state_dict().items()})
        if asked.fault == "not-alike":
            with torch.no_grad():
                for parameter in inner.parameters():
                    parameter.add_(torch.randn_like(parameter), alpha=0.1)

    def loss(self):
        x = torch.randn(8, 32).to(getattr(torch, self.asked.type))
        return (self.model(x) - x.sum(1, keepdim=True)).square().mean()

    def gradients(self):
        if self.asked.beside == "ascent":  # sharpness-aware, each rank up its own slope, and back
            before = [parameter.detach().clone() for parameter in self.model.parameters()]
            with self.model.no_sync():
                self.loss().backward()
            with torch.no_grad():
                for parameter in self.model.parameters():
                    parameter.add_(parameter.grad, alpha=0.01)
            self.optimizer.zero_grad()
            loss = self.loss()
            loss.backward()
            with torch.no_grad():
                for parameter, value in zip(self.model.parameters(), before):
                    parameter.copy_(value)
            return loss
        for micro in range(self.asked.micro_batches):
            last = micro == self.asked.micro_batches - 1
            with contextlib.nullcontext() if last else self.model.no_sync():
                loss = self.loss() / self.asked.micro_batches
                loss.backward()
        return loss

    def is_taken(self, loss, late):
        if self.asked.beside == "guard":  # all ranks decide alike
            return not late or mean_of(loss).item() < math.inf
        return not (self.asked.fault == "own-guard" and late and self.alone and torch.rand(()).item() < 0.5)

    def step(self, number):
        late = number >= self.asked.at
        loss = self.gradients()
        if self.is_taken(loss, late):
            self.optimizer.step()  # of all ranks
        self.optimizer.zero_grad()
        if self.schedule:
            own = self.asked.fault == "own-schedule" and late
            self.schedule.step(loss.item() if own else mean_of(loss).item())
        self.afterwards(number, late)
        return loss

    def afterwards(self, number, late):
        inner = self.model.module
        if self.asked.fault == "one-reloads" and self.alone and number == self.asked.at:
            inner.load_state_dict(self.best)
        if self.asked.beside == "post-local" and late and number % 4 == 0:
            with torch.no_grad():
                for parameter in inner.parameters():
                    parameter.copy_(mean_of(parameter))
        with torch.no_grad():
            for slow, parameter in zip(self.slow.parameters(), inner.parameters()):
                slow.lerp_(parameter, 0.1)
        if self.asked.beside == "swap" and number % 5 == 0:  # evaluates the slow copy in the place of the model, on rank 0 only
            if self.rank == 0:
                kept = copy.deepcopy(inner.state_dict())
                inner.load_state_dict(self.slow.state_dict())
                with torch.no_grad():
                    inner(torch.randn(8, 32))
                inner.load_state_dict(kept)
            dist.barrier()


def main():
    asked = arguments()
    dist.init_process_group("gloo")
    trainer = Trainer(asked)
    loss = torch.zeros(())
    steps = asked.steps + (3 * dist.get_rank() if asked.beside == "join" else 0)
    if asked.beside == "join":
        trainer.schedule = None
    with trainer.model.join() if asked.beside == "join" else contextlib.nullcontext():
        for number in range(steps):
            loss = trainer.step(number)
    print(f"rank {dist.get_rank()}: loss {loss.item():.3f}")
    dist.barrier()


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
