"""Rank 0 prepares a table, a barrier, all read it, after SpeechBrain's recipes (speechbrain/speechbrain#2686).

Where set_device() is called late, a barrier can be work of another device than the one that the host waits for.
"""
import argparse
import json
import os
import time

import torch


def run_on_main(func, barrier):
    """SpeechBrain's: only the main process runs it, the others wait."""
    if int(os.environ["RANK"]) == 0:
        func()
    barrier()


def prepare(path, rows, slow):
    time.sleep(slow)
    with open(path, "w") as table:
        json.dump([[row, row % 7] for row in range(rows)], table)


def load(path):
    try:
        with open(path) as table:
            return json.load(table)
    except (FileNotFoundError, json.JSONDecodeError):  # what a race makes of it; the run goes on, to be looked at
        return [[0, 0]] * 8


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("--barrier", choices=["plain", "wrong-device", "not-waited-for", "none"], default="plain")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--slow", type=float, default=0, help="seconds that preparation takes longer")
    args = parser.parse_args()

    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    if args.barrier != "wrong-device":
        torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl")
    warm = torch.ones(1, device=device)
    torch.distributed.all_reduce(warm)
    warm.item()
    pending = []
    barrier = {"plain": torch.distributed.barrier, "wrong-device": torch.distributed.barrier, "none": lambda: None,
               "not-waited-for": lambda: pending.append(torch.distributed.barrier(async_op=True))}[args.barrier]
    run_on_main(lambda: prepare(args.table, args.rows, args.slow), barrier)
    torch.cuda.set_device(device)
    rows = torch.tensor(load(args.table), dtype=torch.float32, device=device)
    total = rows.sum()
    torch.distributed.all_reduce(total)
    for work in pending:
        work.wait()
    if torch.distributed.get_rank() == 0:
        print("loss", total.item())
    torch.distributed.destroy_process_group()


main()
