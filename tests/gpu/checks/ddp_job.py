"""ddp_job.py DEVICE STEPS [PROFILE]: trains a small model by PyTorch's DistributedDataParallel, as RANK of WORLD_SIZE.

DEVICE: cuda (NCCL; all ranks on the first GPU that they see) or cpu (Gloo). With PROFILE, steps 3 to 5 are profiled by
torch.profiler into that file. Prints lines of JSON.
"""
import json
import os
import sys

import torch
import torch.distributed as dist


def data(rank, step):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(64, 256, generator=generator), torch.randn(64, 16, generator=generator)


def profiler(device):
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    return torch.profiler.profile(activities=activities)


def train(device, steps, profile):
    rank = dist.get_rank()
    torch.manual_seed(1)
    layers = [torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    running = None
    for step in range(steps):
        if profile and step == 3:
            running = profiler(device)
            running.__enter__()
        inputs, targets = (tensor.to(device) for tensor in data(rank, step))
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = loss.item()
        if running and step == 5:
            running.__exit__(None, None, None)
            running.export_chrome_trace(f"{profile}.{rank}")
            running = None
    checksum = sum(parameter.detach().double().sum().item() for parameter in model.parameters())
    # One write a line: ranks share the pipe.
    sys.stdout.write(json.dumps({"rank": rank, "loss": round(value, 6), "checksum": round(checksum, 6)}) + "\n")
    sys.stdout.flush()
    return model


def main():
    device, steps = sys.argv[1], int(sys.argv[2])
    if device == "cuda":
        torch.cuda.set_device(0)
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    kept = train(device, steps, sys.argv[3] if len(sys.argv) > 3 else "")
    if device == "cuda":
        torch.cuda.synchronize()
    del kept  # Gloo's threads must not drop the last reference
    dist.destroy_process_group()


main()
