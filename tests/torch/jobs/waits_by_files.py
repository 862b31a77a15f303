# Ranks that wait for each other by files and variables, without a barrier: build locks, markers, a saver thread.
import os
import sys
import threading
import time

import torch
import torch.distributed as dist


def save(path, value):
    torch.save({"value": torch.full((64, 64), float(value))}, path)


def load(path):
    return torch.load(path)["value"].mean().item()


def build_once(folder, number):
    """As torch.utils.file_baton: who makes the lock builds, the others wait until it is gone."""
    lock, built = os.path.join(folder, f"lock{number}"), os.path.join(folder, f"built{number}.pt")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        while os.path.exists(lock):
            time.sleep(0.02)
    else:
        if not os.path.exists(built):
            time.sleep(0.1)
            save(built, number)
        os.remove(lock)
    return load(built)


def wait_for_marker(folder, number, rank, late):
    """Rank 0 writes data, then a marker; who comes late finds it at the first look."""
    data, marker = os.path.join(folder, f"data{number}.pt"), os.path.join(folder, f"done{number}")
    if rank == 0:
        save(data, number)
        open(marker, "w").close()
    else:
        time.sleep(late)
        while not os.path.exists(marker):
            time.sleep(0.02)
    return load(data)


class Saver(threading.Thread):
    """Writes in the background; the main thread looks at a variable now and then."""

    def __init__(self, path, value):
        super().__init__(daemon=True)
        self.path, self.value, self.done = path, value, False

    def run(self):
        save(self.path, self.value)
        self.done = True
        time.sleep(0.2)


def save_in_background(folder, number, rank):
    path = os.path.join(folder, f"saved{number}.pt")
    if rank == 0:
        saver = Saver(path, number)
        saver.start()
        while not saver.done:
            time.sleep(0.01)
    dist.barrier()
    return load(path)


def main(folder, late):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    os.makedirs(folder, exist_ok=True)
    values = []
    for number in range(3):
        values += [build_once(folder, number), wait_for_marker(folder, number, rank, late),
                   save_in_background(folder, number, rank)]
    total = torch.tensor(sum(values))
    dist.all_reduce(total)
    if rank == 0:
        print(f"loss {total.item() / len(values):.3f}", flush=True)
    dist.barrier()
    return total


if __name__ == "__main__":
    kept = main(sys.argv[1], float(sys.argv[2]))
    dist.destroy_process_group()
