"""Healthy ways to train on Gloo that look like a mistake: --way NAME. Every rank draws its own batches.

torchrun --nproc_per_node 2 ways_to_train.py --way gan
"""
import argparse
import contextlib
import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

STEPS = 12


def network(inputs=32, outputs=1):
    return nn.Sequential(nn.Linear(inputs, 48), nn.ReLU(), nn.Linear(48, outputs))


def batch(inputs=32):
    return torch.randn(8, inputs)


def fit(model, optimizer, x):
    optimizer.zero_grad()
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()
    return loss


def average(tensors):
    for tensor in tensors:
        dist.all_reduce(tensor)
        tensor /= dist.get_world_size()


def gan():
    makes, judges = DDP(network(16, 32)), DDP(network())
    maker = torch.optim.Adam(makes.parameters(), lr=1e-3)
    judge = torch.optim.Adam(judges.parameters(), lr=1e-3)
    for _ in range(STEPS):
        fake = makes(batch(16))
        judge.zero_grad()
        (judges(batch()).mean() - judges(fake.detach()).mean()).backward()
        judge.step()
        maker.zero_grad()
        loss = judges.module(fake).mean()  # the judge's gradients are thrown away
        loss.backward()
        maker.step()
    return loss, makes, judges


def accumulation():
    model = DDP(network())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        for micro in range(3):
            with model.no_sync() if micro < 2 else contextlib.nullcontext():
                loss = model(batch()).square().mean()
                loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss, model


def unused():
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = network(), network()

        def forward(self, x, left):
            return (self.left if left else self.right)(x)

    model = DDP(Branches(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(batch(), step % 2 == 0).square().mean()
        loss.backward()
        optimizer.step()
    return loss, model


def static_graph():
    model = DDP(network(), static_graph=True, bucket_cap_mb=0.001)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        loss = fit(model, optimizer, batch())
    return loss, model


def local_sgd():
    model = network()
    average([parameter.data for parameter in model.parameters()])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(STEPS):
        loss = fit(model, optimizer, batch())
        if step % 4 == 3:
            average([parameter.data for parameter in model.parameters()])
    return loss, model


def wrapped_local_sgd():
    model = DDP(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(STEPS):
        with model.no_sync():
            loss = fit(model, optimizer, batch())
        if step % 4 == 3:
            average([parameter.data for parameter in model.parameters()])
    return loss, model


def join():
    model = DDP(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with model.join():
        for _ in range(STEPS + dist.get_rank()):
            loss = fit(model, optimizer, batch())
    return loss, model


def evaluation_on_rank_0():
    model = DDP(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(STEPS):
        loss = fit(model, optimizer, batch())
        if step % 4 == 3 and dist.get_rank() == 0:
            with torch.no_grad():
                model.module(batch())
    return loss, model


def parameter_server():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        for parameter in model.parameters():
            dist.broadcast(parameter.data, 0)
        optimizer.zero_grad()
        loss = model(batch()).square().mean()
        loss.backward()
        for parameter in model.parameters():
            dist.reduce(parameter.grad, 0)
        if dist.get_rank() == 0:
            optimizer.step()
    return loss, model


def zero():
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = DDP(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-3)
    for _ in range(STEPS):
        loss = fit(model, optimizer, batch())
    return loss, model


def fsdp2():
    from torch.distributed.fsdp import fully_shard
    model = network()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        for micro in range(2):
            model.set_requires_gradient_sync(micro == 1)
            loss = model(batch()).square().mean()
            loss.backward()
        optimizer.step()
    return loss, model


def moving_average():
    model = DDP(network())
    shadow = copy.deepcopy(model.module)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        loss = fit(model, optimizer, batch())
        with torch.no_grad():
            for kept, parameter in zip(shadow.parameters(), model.module.parameters()):
                kept.lerp_(parameter, 0.1)
    return loss, model


def clipping():
    model = DDP(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(batch()).square().mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        dist.all_reduce(norm)
        optimizer.step()
    return loss, model


def several_models():
    models = [DDP(network()) for _ in range(3)]
    optimizer = torch.optim.SGD([p for model in models for p in model.parameters()], lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        x = batch()
        loss = sum(model(x).square().mean() for model in models)
        loss.backward()
        optimizer.step()
    return loss, *models


def in_turn():
    """Each model has a pass of its own, and one optimizer steps for both."""
    models = [DDP(network()) for _ in range(2)]
    optimizer = torch.optim.SGD([p for model in models for p in model.parameters()], lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        for model in models:
            loss = model(batch()).square().mean()
            loss.backward()
        optimizer.step()
    return loss, *models


def wrapped_anew():
    """A first wrapper is given up for one with other settings."""
    model = network()
    DDP(model)
    model = DDP(model, bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        loss = fit(model, optimizer, batch())
    return loss, model


def probe():
    """Each rank fits a small head of its own on what the wrapped model says."""
    model, head = DDP(network(outputs=8)), nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    of_head = torch.optim.SGD(head.parameters(), lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(batch()).square().mean()
        loss.backward()
        optimizer.step()
        of_head.zero_grad()
        with torch.no_grad():
            features = model.module(batch())
        head(features).square().mean().backward()
        of_head.step()
    return loss, model


WAYS = {way.__name__.replace("_", "-"): way for way in (
    gan, accumulation, unused, static_graph, local_sgd, wrapped_local_sgd, join, evaluation_on_rank_0, parameter_server, zero, fsdp2,
    moving_average, clipping, several_models, in_turn, wrapped_anew, probe)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--way", choices=WAYS, required=True)
    way = parser.parse_args().way
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    if dist.get_rank():
        torch.manual_seed(100 + dist.get_rank())
    loss, *kept = WAYS[way]()
    print(f"rank {dist.get_rank()}: loss {loss.item():.3f}")
    dist.barrier()
    return kept


if __name__ == "__main__":
    models = main()
    del models
    dist.destroy_process_group()
