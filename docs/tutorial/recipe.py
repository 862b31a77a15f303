"""A training recipe as SpeechBrain writes them: rank 0 prepares the data, the others wait at a barrier.

torchrun --nproc_per_node 2 recipe.py    (Debian 12's needs -r 1 -t 1 before recipe.py)
"""
import os
import time

import torch
import torch.distributed as dist

TEXT, PIECES = "save/text.txt", "save/pieces.txt"


def run_on_main(function):
    if dist.get_rank() == 0:
        function()
    dist.barrier()


def write_text():
    os.makedirs("save", exist_ok=True)
    with open(TEXT, "w", buffering=1) as file:
        for line in range(100):
            file.write(f"utterance {line} abcdefgh\n")
            time.sleep(0.02)  # a slow NFS


def write_pieces():
    with open(TEXT) as text:
        words = sorted(set(text.read().split()))
    time.sleep(0.2)
    with open(PIECES, "w") as file:
        file.write("\n".join(words))


def prepare():
    if not os.path.isfile(TEXT):
        run_on_main(write_text)
    run_on_main(write_pieces)


def main():
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    time.sleep(1 + dist.get_rank())  # nodes do not come at the same time
    prepare()
    with open(PIECES) as file:
        pieces = file.read().split()

    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(len(pieces), 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(10):
        loss = (model(torch.ones(4, len(pieces))) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(f"trained on {len(pieces)} pieces, loss {loss.item():.4f}")
    dist.barrier()
    del model  # which uses the group
    dist.destroy_process_group()


main()
