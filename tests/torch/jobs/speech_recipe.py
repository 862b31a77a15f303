"""Recipe in the style of SpeechBrain: whatever makes files is wrapped in run_on_main.

torchrun --nproc_per_node 2 speech_recipe.py --out results/1
"""
import argparse
import csv
import os
import time

import torch
import torch.distributed as dist


def if_main_process():
    return int(os.environ.get("RANK", 0)) == 0


def ddp_barrier():
    if dist.is_initialized():
        dist.barrier()


def run_on_main(func, *args):
    if if_main_process():
        func(*args)
    ddp_barrier()


def prepare(manifest, clips):
    if os.path.isfile(manifest):
        return
    with open(manifest, "w", newline="") as file:
        writer = csv.writer(file)
        for clip in range(clips):
            writer.writerow([f"utt{clip:03d}", 1 + clip % 7, "abcdefgh"[clip % 8] * (1 + clip % 3)])


def read_manifest(manifest):
    with open(manifest, newline="") as file:
        return list(csv.reader(file))


def csv2text(manifest, text):
    words = [row[2] for row in read_manifest(manifest)]
    with open(text, "w") as file:
        file.write("\n".join(words))


def train_pieces(text, model):
    with open(text) as file:
        pieces = sorted(set(file.read().split()))
    counts = torch.zeros(len(pieces), 256)
    for _ in range(200):
        counts += torch.randn_like(counts) @ torch.eye(256)
    torch.save({"pieces": pieces, "scores": counts}, model)


class Tokenizer:
    def __init__(self, folder, manifest, guard):
        text, model = os.path.join(folder, "text.txt"), os.path.join(folder, "pieces.model")
        if guard == "inside":
            run_on_main(self._make, manifest, text, model)
        else:
            if not os.path.isfile(text):
                run_on_main(csv2text, manifest, text)
            run_on_main(train_pieces, text, model)
        self.pieces = torch.load(model)["pieces"]

    @staticmethod
    def _make(manifest, text, model):
        if not os.path.isfile(text):
            csv2text(manifest, text)
        train_pieces(text, model)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--clips", type=int, default=60)
    parser.add_argument("--group", choices=["first", "late"], default="first", help="when the process group is made")
    parser.add_argument("--guard", choices=["inside", "outside"], default="inside", help="of the tokenizer's text")
    parser.add_argument("--text-is-there", action="store_true", help="as on every run but the first")
    parser.add_argument("--late", type=float, default=0, help="seconds that all ranks but the first take longer")
    args = parser.parse_args()

    torch.manual_seed(0)
    manifest = os.path.join(args.out, "train.csv")
    os.makedirs(args.out, exist_ok=True)
    if args.group == "first":
        dist.init_process_group("gloo")
    run_on_main(prepare, manifest, args.clips)
    if args.text_is_there:
        run_on_main(csv2text, manifest, os.path.join(args.out, "text.txt"))
    if not if_main_process():
        time.sleep(args.late)
    rows = read_manifest(manifest)
    tokenizer = Tokenizer(args.out, manifest, args.guard) if args.group == "first" else None
    if args.group == "late":
        dist.init_process_group("gloo")

    mine = torch.tensor([float(row[1]) for row in rows[dist.get_rank()::dist.get_world_size()]])
    weight = torch.zeros(1, requires_grad=True)
    for _ in range(5):
        loss = ((weight * mine - mine) ** 2).mean()
        loss.backward()
        dist.all_reduce(weight.grad)
        with torch.no_grad():
            weight -= 0.001 * weight.grad
        weight.grad = None
    if if_main_process():
        print(f"loss {loss.item():.6f} pieces {len(tokenizer.pieces) if tokenizer else 0}")
    dist.barrier()


main()
