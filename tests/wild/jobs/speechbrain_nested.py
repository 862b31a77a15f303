"""A recipe whose preparation, on the main process, calls what itself runs on the main process: torchrun speechbrain_nested.py FOLDER"""
import argparse
import csv
import datetime
import os

import speechbrain_import  # noqa: F401
import torch
from speechbrain.utils.distributed import run_on_main

parser = argparse.ArgumentParser()
parser.add_argument("folder")
arguments = parser.parse_args()
manifest = os.path.join(arguments.folder, "train.csv")


def write_manifest():
    with open(manifest, "w", newline="") as file:
        csv.writer(file).writerows([["ID", "length"], *([clip, clip % 97] for clip in range(1000))])


def prepare():
    os.makedirs(arguments.folder, exist_ok=True)
    run_on_main(write_manifest)


# As ddp_init_group() does, which gives up after two hours.
torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=8))
run_on_main(prepare)
with open(manifest, newline="") as file:
    lengths = torch.tensor([float(row["length"]) for row in csv.DictReader(file)])
torch.distributed.all_reduce(lengths)
print("length", lengths.mean().item())
torch.distributed.destroy_process_group()
