# Ranks that order what they do by a key-value store alone: no collective stands between a write and its reads.
import argparse
import os
import threading
import time

import torch
import torch.distributed as dist


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--serve", choices=["agent", "rank0"], default="agent")
    parser.add_argument("--port", type=int, default=0, help="of rank 0's store")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--beat", type=float, default=0, help="seconds between signs of life, of a thread each")
    parser.add_argument("--forget", choices=["wait", "count"], help="the ranks do not wait, rank 0 does not count")
    return parser.parse_args()


def make_store(arguments, rank, world):
    if arguments.serve == "rank0":
        return dist.TCPStore("127.0.0.1", arguments.port, world, is_master=rank == 0)
    return dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), world, is_master=False,
                         wait_for_workers=False)


def beat(arguments, rank, world):
    """A connection of its own: a store's client serves one thread at a time."""
    if arguments.serve == "rank0":
        store = dist.TCPStore("127.0.0.1", arguments.port, None, is_master=False, wait_for_workers=False)
    else:
        store = make_store(arguments, rank, world)

    stop = threading.Event()

    def run():
        while not stop.wait(arguments.beat):
            store.set(f"beat/{rank}", str(time.time()))
            store.get(f"beat/{rank}")

    thread = threading.Thread(target=run, daemon=True)  # a rank that fails ends
    thread.start()
    return stop, thread


def meet(store, world):
    """Ranks import for as long as they do: what is slept for is counted from here."""
    if store.add("here", 1) == world:
        store.set("all here", "yes")
    store.wait(["all here"])


def save(path, value):
    torch.save(torch.full((64, 64), float(value)), path)


def main():
    arguments = parse()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = make_store(arguments, rank, world)
    os.makedirs(arguments.folder, exist_ok=True)
    if arguments.beat:
        stop, thread = beat(arguments, rank, world)
    meet(store, world)
    total = 0.0
    for number in range(arguments.rounds):
        data = os.path.join(arguments.folder, f"data{number}.pt")
        if rank == 0:
            save(data, number)
            store.set(f"ready/{number}", "yes")
        elif arguments.forget == "wait":
            time.sleep(0.5)  # long enough that the run survives
        else:
            store.wait([f"ready/{number}"])
        total += torch.load(data).mean().item()
        save(os.path.join(arguments.folder, f"part{number}-{rank}.pt"), rank)
        if rank:
            store.add(f"parts/{number}", 1)
            continue
        if arguments.forget == "count":
            time.sleep(1)
        while arguments.forget != "count" and store.add(f"parts/{number}", 0) < world - 1:
            time.sleep(0.01)
        total += sum(torch.load(os.path.join(arguments.folder, f"part{number}-{r}.pt")).mean().item()
                     for r in range(world))
    if rank == 0:
        print(f"loss {total:.3f}", flush=True)
    if arguments.beat:
        stop.set()
        thread.join()
    # Who serves the store leaves last.
    if store.add("end", 1) == world:
        store.set("ended", "yes")
    store.wait(["ended"])
    if rank == 0 and arguments.serve == "rank0":
        time.sleep(0.3)


if __name__ == "__main__":
    main()
