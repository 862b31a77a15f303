"""A recipe that prepares its data on the main process: torchrun speechbrain_prepared.py FOLDER [--group gloo]"""
import argparse
import json
import os
import time

import speechbrain_import  # noqa: F401
import speechbrain
import torch
from speechbrain.dataio.dataset import DynamicItemDataset
from speechbrain.utils.distributed import ddp_init_group, run_on_main

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--group", choices=["gloo", "nccl"], help="make the process group, as a recipe has to")
parser.add_argument("--takes", type=float, default=0, help="seconds that the preparation takes")
parser.add_argument("--clips", type=int, default=20000)
arguments = parser.parse_args()
manifest = os.path.join(arguments.folder, "train.json")


def prepare():
    os.makedirs(arguments.folder, exist_ok=True)
    clips = {f"clip{number}": {"length": number % 97, "wav": f"clips/{number}.wav"} for number in range(arguments.clips)}
    time.sleep(arguments.takes)
    with open(manifest, "w") as file:
        json.dump(clips, file)


if arguments.group:
    ddp_init_group({"distributed_backend": arguments.group})
speechbrain.create_experiment_directory(arguments.folder)
run_on_main(prepare)
clips = DynamicItemDataset.from_json(manifest, output_keys=["length"])
print("clips", len(clips))
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
