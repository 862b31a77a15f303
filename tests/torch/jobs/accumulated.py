"""Gradient accumulation with DistributedDataParallel on Gloo: which micro-batches are reduced, and what resembles that.

torchrun --nproc_per_node 2 accumulated.py --reduce every
"""
import argparse
import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reduce", choices=["last", "every", "first", "never"], default="last", help="at which micro-batch")
    parser.add_argument("--short", choices=["none", "reduced", "left-out"], default="none", help="each third step has a micro-batch less")
    parser.add_argument("--buffers", action="store_true", help="normalise batches: the wrapper broadcasts the statistics")
    parser.add_argument("--past-wrapper", action="store_true", help="call the wrapped module itself")
    parser.add_argument("--by-hand", choices=["nothing", "gradients", "parameters"], default="nothing", help="average these, too")
    parser.add_argument("--beside", choices=["nothing", "critic", "adversary", "search", "penalty", "evaluations", "ascent", "own-head"], default="nothing")
    parser.add_argument("--micro-batches", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--update", choices=["step", "compiled", "loop", "first-layer", "data", "in-backward"], default="step", help="who writes the parameters")
    parser.add_argument("--optimizer", choices=["SGD", "AdamW"], default="SGD")
    return parser.parse_args()


def network(inputs, hidden, buffers=False, deeper=0):
    between = [*([nn.BatchNorm1d(hidden)] if buffers else []), *(nn.Linear(hidden, hidden) for _ in range(deeper))]
    return nn.Sequential(nn.Linear(inputs, hidden), *between, nn.ReLU(), nn.Linear(hidden, 1))


def average(tensors):
    for tensor in tensors:
        dist.all_reduce(tensor)
        tensor /= dist.get_world_size()


# As SGD does, without an optimizer.
class Descent:
    def __init__(self, parameters):
        self.parameters = list(parameters)

    def step(self):
        with torch.no_grad():
            for parameter in self.parameters:
                parameter -= 1e-2 * parameter.grad

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad = None


# Likewise of the first layer only.
class FirstLayer(Descent):
    def __init__(self, model):
        super().__init__(model[0].parameters())
        self.zero_grad = model.zero_grad


# As Descent does, past the version counters.
class DataDescent(Descent):
    def step(self):
        for parameter in self.parameters:
            parameter.data -= 1e-2 * parameter.grad.data

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad.data.zero_()


# As soon as a parameter has its gradient, which saves the memory of all gradients.
class InBackward:
    def __init__(self, parameters, make):
        self.optimizers = {parameter: make([parameter], lr=1e-2) for parameter in parameters}
        for parameter in self.optimizers:
            parameter.register_post_accumulate_grad_hook(self.update)

    def update(self, parameter):
        self.optimizers[parameter].step()
        self.optimizers[parameter].zero_grad()

    def step(self):
        pass

    zero_grad = step


# Dynamo leaves out what names the step for the profiler.
class Compiled:
    def __init__(self, optimizer):
        self.step, self.zero_grad = torch.compile(optimizer.step, backend="aot_eager"), optimizer.zero_grad


def accumulate(model, optimizer, micro_batches, reduced_at, past_wrapper, by_hand):
    forward = model.module if past_wrapper else model
    for micro in range(micro_batches):
        x = torch.randn(8, 32)
        with contextlib.nullcontext() if micro in reduced_at else model.no_sync():
            loss = (forward(x) - x.sum(1, keepdim=True)).square().mean() / micro_batches
            loss.backward()  # of one micro-batch
    if by_hand == "gradients":
        average([parameter.grad for parameter in model.parameters()])
    optimizer.step()
    optimizer.zero_grad()
    if by_hand == "parameters":
        with torch.no_grad():
            average(model.parameters())
    mean = loss.detach().clone()
    dist.all_reduce(mean)  # what is logged
    return mean.item() / dist.get_world_size()


# Each rank has a critic of its own, which need not be reduced.
def teach_critic(model, critic, optimizer):
    x = torch.randn(8, 32)
    with torch.no_grad():
        value = model(x)
    loss = critic(value).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


# The model is the discriminator: it takes part in both losses, and its optimizer runs once.
def contend(model, optimizer, generator, its_optimizer):
    fake = generator(torch.randn(8, 16))
    optimizer.zero_grad()
    (model(torch.randn(8, 32)) - model(fake.detach())).mean().backward()
    optimizer.step()
    its_optimizer.zero_grad()
    model(fake).mean().backward()
    its_optimizer.step()


# Sharpness-aware: the gradients of the first pass say where to look, and are thrown away.
def search(model, optimizer):
    x = torch.randn(8, 32)
    model(x).square().mean().backward()
    with torch.no_grad():
        moves = [(parameter, 0.05 * parameter.grad) for parameter in model.parameters()]
        for parameter, move in moves:
            parameter.add_(move)
    optimizer.zero_grad()
    model(x).square().mean().backward()
    with torch.no_grad():
        for parameter, move in moves:
            parameter.sub_(move)
    optimizer.step()
    optimizer.zero_grad()


# Likewise by an optimizer that goes up, without a reduction; where from is put back.
def ascend(model, optimizer, ascent):
    x = torch.randn(8, 32)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    with model.no_sync():
        model(x).square().mean().backward()
    ascent.step()
    optimizer.zero_grad()
    model(x).square().mean().backward()
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), before):
            parameter.copy_(value)
    optimizer.step()
    optimizer.zero_grad()


# A layer of each rank's own, which learns as soon as it has its gradient, in front of all that is reduced.
def learn_head(model, optimizer, head):
    model(torch.randn(8, 32)).matmul(head).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


# A gradient is asked for, and added to none.
def penalise(model, optimizer):
    x = torch.randn(8, 32, requires_grad=True)
    slope, = torch.autograd.grad(model.module(x).sum(), x, create_graph=True)
    optimizer.zero_grad()
    (model(x).mean() + (slope.norm(dim=1) - 1).square().mean()).backward()
    optimizer.step()


# One step of an optimizer that evaluates the model a hundred times.
def evaluate(model, optimizer, x):
    def loss():
        optimizer.zero_grad()
        value = (model(x) - x.sum(1, keepdim=True)).square().mean()
        value.backward()
        return value

    optimizer.step(loss)


def main():
    asked = arguments()
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = DistributedDataParallel(network(32, asked.hidden, asked.buffers, 8 if asked.update == "first-layer" else 0))
    make = getattr(torch.optim, asked.optimizer)
    optimizer = make(model.parameters(), lr=1e-2)
    if asked.update != "step":
        of = {"compiled": lambda: Compiled(optimizer), "loop": lambda: Descent(model.parameters()), "data": lambda: DataDescent(model.parameters()),
              "first-layer": lambda: FirstLayer(model.module), "in-backward": lambda: InBackward(model.parameters(), make)}
        optimizer = of[asked.update]()
    quasi_newton = torch.optim.LBFGS(model.parameters(), lr=1e-4, max_iter=100, tolerance_grad=0, tolerance_change=0)
    critic, generator = network(1, asked.hidden), DistributedDataParallel(nn.Linear(16, 32))
    of_critic, of_generator = make(critic.parameters(), lr=1e-2), make(generator.parameters(), lr=1e-2)
    at_full_steps = {"first": {0}, "last": {asked.micro_batches - 1}, "every": set(range(asked.micro_batches)), "never": set()}[asked.reduce]
    torch.manual_seed(100 + dist.get_rank())
    head = torch.ones(1, 1, requires_grad=True)
    if asked.beside == "own-head":
        InBackward([head], make)
    ascent = torch.optim.SGD(model.parameters(), lr=0.05, maximize=True)
    loss = 0.0
    for step in range(asked.steps):
        if asked.beside == "adversary":
            contend(model, optimizer, generator, of_generator)
        elif asked.beside == "search":
            search(model, optimizer)
        elif asked.beside == "ascent":
            ascend(model, optimizer, ascent)
        elif asked.beside == "own-head":
            learn_head(model, optimizer, head)
        elif asked.beside == "penalty":
            penalise(model, optimizer)
        elif asked.beside == "evaluations":
            evaluate(model, quasi_newton, torch.randn(8, 32))
        else:
            is_short = asked.short != "none" and step % 3 == 2
            micro_batches = asked.micro_batches - is_short
            reduced_at = {micro_batches - 1} if is_short and asked.short == "reduced" else at_full_steps
            loss = accumulate(model, optimizer, micro_batches, reduced_at, asked.past_wrapper, asked.by_hand)
        if asked.beside == "critic":
            teach_critic(model, critic, of_critic)
    print(f"rank {dist.get_rank()}: loss {loss:.3f}")
    dist.barrier()
    return model, generator


if __name__ == "__main__":
    kept = main()
    del kept
    dist.destroy_process_group()
