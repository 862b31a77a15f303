"""Trains a small recogniser with SpeechBrain's checkpointer: torchrun speechbrain_checkpoints.py FOLDER --save all

main: one rank saves, in a region for the main process; all: each calls the checkpointer, which keeps the newest.
"""
import argparse
import datetime

import speechbrain_import  # noqa: F401
import torch
from speechbrain.utils.checkpoints import Checkpointer
from speechbrain.utils.distributed import run_on_main
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--save", choices=["main", "all"], required=True)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--steps", type=int, default=4)
arguments = parser.parse_args()

# As ddp_init_group() does, which gives up after two hours.
torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=8))
rank = torch.distributed.get_rank()
torch.manual_seed(1)
network = torch.nn.Sequential(torch.nn.Linear(40, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
model = DistributedDataParallel(network)
optimizer = torch.optim.Adam(model.parameters())
checkpointer = Checkpointer(arguments.folder, {"model": network, "optimizer": optimizer})
generator = torch.Generator().manual_seed(rank)

for epoch in range(arguments.epochs):
    for _ in range(arguments.steps):
        features, words = torch.randn(8, 40, generator=generator), torch.randint(10, (8,), generator=generator)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(features), words)
        loss.backward()
        optimizer.step()
    if arguments.save == "main":
        run_on_main(checkpointer.save_checkpoint, kwargs={"meta": {"epoch": epoch}})
    else:
        checkpointer.save_and_keep_only(meta={"epoch": epoch}, num_to_keep=1)
print("loss", loss.item())
torch.distributed.destroy_process_group()
