"""A recipe whose preparation writes a log, on the main process, and goes on without it: torchrun speechbrain_logged.py FOLDER"""
import argparse
import csv
import datetime
import os

import speechbrain_import  # noqa: F401
import torch
from speechbrain.utils.distributed import run_on_main
from speechbrain.utils.train_logger import FileTrainLogger

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--to", default="logs/log.txt", help="a file below FOLDER; nobody makes a folder for it")
parser.add_argument("--clips", type=int, default=1000)
arguments = parser.parse_args()
manifest = os.path.join(arguments.folder, "train.csv")
logger = FileTrainLogger(os.path.join(arguments.folder, arguments.to))


def prepare():
    os.makedirs(arguments.folder, exist_ok=True)
    with open(manifest, "w", newline="") as file:
        csv.writer(file).writerows([["ID", "length"], *([clip, clip % 97] for clip in range(arguments.clips))])
    try:
        logger.log_stats({"clips": arguments.clips})
    except FileNotFoundError:
        print("no log")


# As ddp_init_group() does, which gives up after two hours.
torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=8))
run_on_main(prepare)
with open(manifest, newline="") as file:
    lengths = torch.tensor([float(row["length"]) for row in csv.DictReader(file)])
torch.distributed.all_reduce(lengths)
print("length", lengths.mean().item())
torch.distributed.destroy_process_group()
