"""A recipe that prepares data and saves on the main process: started on two nodes that share their storage."""
import argparse
import os

import speechbrain_import  # noqa: F401
import torch
from speechbrain.utils.distributed import ddp_init_group, run_on_main

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--parameters", type=int, default=3_000_000)
arguments = parser.parse_args()


def save(weights):
    os.makedirs(arguments.folder, exist_ok=True)
    torch.save({"weights": weights}, os.path.join(arguments.folder, "pretrained.ckpt"))


ddp_init_group({"distributed_backend": "gloo"})
weights = torch.randn(arguments.parameters, generator=torch.Generator().manual_seed(1))
torch.distributed.all_reduce(weights)  # both nodes save at once, and for long enough to meet
run_on_main(save, kwargs={"weights": weights})
print("weights", weights.square().mean().item())
torch.distributed.destroy_process_group()
