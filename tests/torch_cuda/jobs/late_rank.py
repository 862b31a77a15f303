"""One rank is late in every step: its input is slow, or its device has more to do."""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--late", choices=["input", "compute", "nobody"], default="nobody")
parser.add_argument("--rank", type=int, default=1)
parser.add_argument("--seconds", type=float, default=0.3)
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--norm", action="store_true", help="with batch normalisation: each forward broadcasts its buffers")
args = parser.parse_args()


class Examples(Dataset):
    def __len__(self):
        return 4 * args.steps

    def __getitem__(self, index):
        if args.late == "input" and int(os.environ["RANK"]) == args.rank:
            time.sleep(args.seconds / 4)  # a disk far away
        return torch.full((40,), float(index))


def spin_until(model, x):
    """More layers than on the other ranks."""
    until = time.monotonic() + args.seconds
    while time.monotonic() < until:
        with torch.no_grad():
            x = torch.tanh(model(x))
        torch.cuda.synchronize()


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
net = torch.nn.Sequential(torch.nn.Linear(40, 64), torch.nn.BatchNorm1d(64) if args.norm else torch.nn.ReLU(),
                          torch.nn.Linear(64, 40)).cuda()
model = DistributedDataParallel(net)
heavy = torch.nn.Linear(40, 40).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for x in DataLoader(Examples(), batch_size=4):
    x = x.cuda()
    if args.late == "compute" and dist.get_rank() == args.rank:
        spin_until(heavy, x)
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if dist.get_rank() == 0:
    print("loss", loss.item())
dist.barrier()
dist.destroy_process_group()
