"""An image classifier, as in the DDP tutorials: rank 0 saves, all ranks log one mean loss.

torchrun --nproc-per-node 2 image_classifier.py runs/a --bug barrier --rank 1
"""
import argparse
import os
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Images(Dataset):
    """Drawn anew from their index: there are no files."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(3, 8, 8, generator=generator), index % 10


def conv_net(width):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
                         nn.Flatten(), nn.Linear(4 * width, 10))


def save_checkpoint(model, optimizer, epoch, args, rank):
    path = os.path.join(args.out, f"epoch{epoch}.pt")
    if args.bug == "save":
        dist.all_reduce(torch.zeros(1, device="cuda"))  # all begin at once
        torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, path)  # by everyone
    elif rank == 0:
        torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, path)  # by one
    if args.bug == "barrier" and rank == args.rank and epoch == args.at:
        return  # no file of its own to look after
    dist.barrier()


def mean_loss(loss, rank, args):
    mean = loss.detach().clone()
    if args.bug == "log":
        if rank == 0:
            dist.all_reduce(mean)  # for the log
        return mean
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean


def train(args):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", timeout=timedelta(seconds=args.timeout))
    rank = dist.get_rank()
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    images = Images(args.images)
    sampler = DistributedSampler(images)
    loader = DataLoader(images, batch_size=4, sampler=sampler, num_workers=args.workers, pin_memory=True)
    model = DDP(conv_net(args.width).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for pixels, label in loader:
            loss = F.cross_entropy(model(pixels.cuda(non_blocking=True)), label.cuda(non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        mean = mean_loss(loss, rank, args)
        if rank == 0:
            print(f"epoch {epoch} loss {mean.item():.6f}")
        save_checkpoint(model, optimizer, epoch, args, rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--bug", choices=["none", "barrier", "log", "save"], default="none")
    parser.add_argument("--rank", type=int, default=1, help="who skips the barrier")
    parser.add_argument("--at", type=int, default=0, help="after which epoch")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--timeout", type=int, default=600, help="seconds until NCCL's watchdog ends the job")
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())
