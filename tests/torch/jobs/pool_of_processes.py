"""Ranks made by multiprocessing, without a launcher, ports or RANK: the group meets at a file, the rest by what
multiprocessing offers (a barrier, a queue, an event)."""
import multiprocessing
import pathlib
import sys

import torch
import torch.distributed as dist


def save(value, path):
    torch.save({"value": value}, path)


def load(path):
    return torch.load(path)["value"]


def train(rank, world, folder, meeting, losses, finished):
    torch.set_num_threads(1)
    torch.manual_seed(4)
    if rank == world - 1:
        save(torch.randn(24), folder / "start.pt")
    meeting.wait()
    weight = load(folder / "start.pt")
    dist.init_process_group("gloo", init_method=f"file://{folder.resolve()}/meeting", rank=rank, world_size=world)
    for step in range(6):
        gradient = weight * (1 + rank)
        dist.all_reduce(gradient)
        weight -= 0.05 * gradient / world
    save(weight, folder / f"weight{rank}.pt")
    losses.put((rank, weight.square().mean().item()))
    finished.wait()
    average = load(folder / "average.pt")
    assert torch.allclose(average, weight)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    folder, world, method = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    folder.mkdir()
    context = multiprocessing.get_context(method)
    meeting, losses, finished = context.Barrier(world), context.Queue(), context.Event()
    ranks = [context.Process(target=train, args=(rank, world, folder, meeting, losses, finished)) for rank in range(world)]
    for process in ranks:
        process.start()
    results = sorted(losses.get() for _ in ranks)
    weights = [load(folder / f"weight{rank}.pt") for rank, _ in results]
    save(torch.stack(weights).mean(0), folder / "average.pt")
    finished.set()
    for process in ranks:
        process.join()
    assert not any(process.exitcode for process in ranks)
    (folder / "meeting").unlink(missing_ok=True)
    print("loss", *(f"{loss:.6f}" for _, loss in results))
