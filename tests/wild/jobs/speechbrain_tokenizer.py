"""A recipe that trains SpeechBrain's tokenizer first: torchrun speechbrain_tokenizer.py FOLDER"""
import argparse
import csv
import datetime
import os
import time

import speechbrain_import  # noqa: F401
import torch
from speechbrain.tokenizers.SentencePiece import SentencePiece
from speechbrain.utils.distributed import run_on_main

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--late", type=float, default=0, help="seconds that a rank takes longer to come to the tokenizer")
parser.add_argument("--rank", type=int, default=1, help="which one")
parser.add_argument("--timeout", type=float, default=60)
arguments = parser.parse_args()
manifest = os.path.join(arguments.folder, "train.csv")


def prepare():
    os.makedirs(arguments.folder, exist_ok=True)
    words = "the quick brown fox jumps over a lazy dog while five boxing wizards sing".split()
    with open(manifest, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["ID", "wrd"])
        for row in range(400):
            rows.writerow([row, " ".join(words[(row * step) % len(words)] for step in range(1, 9))])


# As ddp_init_group() does, which gives up after two hours.
torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=arguments.timeout))
run_on_main(prepare)
if torch.distributed.get_rank() == arguments.rank:
    time.sleep(arguments.late)
tokenizer = SentencePiece(arguments.folder, 40, annotation_train=manifest, annotation_read="wrd", model_type="bpe")
pieces = torch.tensor([float(len(tokenizer.sp.encode_as_ids("the lazy dog")))])
torch.distributed.all_reduce(pieces)
print("pieces", pieces.item() / torch.distributed.get_world_size())
torch.distributed.destroy_process_group()
