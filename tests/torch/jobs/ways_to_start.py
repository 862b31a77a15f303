"""Two ranks that their script starts itself, in each of the ways that multiprocessing has; or a fork in the middle.

ways_to_start.py fork|spawn|forkserver|child|twice PORT
"""
import multiprocessing
import os
import sys

import torch
import torch.distributed as dist

kept = []


def keep(tensor):
    kept.append(tensor)
    return tensor


def import_again():
    """As a notebook that reloads does: Python's modules are made anew, the libraries stay."""
    names = [name for name in sys.modules if name == "torch._utils_internal"]
    for name in names:
        del sys.modules[name]
    import torch._utils_internal  # noqa: F401


def work(rank, how, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    if how == "twice":
        import_again()
    dist.all_reduce(keep(torch.ones(7)))  # in the rank
    if how == "child":
        child = os.fork()
        if child == 0:
            (torch.ones(3, requires_grad=True) * 2).sum().backward()  # in the child
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    dist.barrier()
    print(f"rank {rank}: loss 0", flush=True)
    dist.destroy_process_group()


def main():
    how, port = sys.argv[1:]
    torch.set_num_threads(1)
    context = multiprocessing.get_context(how if how in ("fork", "spawn", "forkserver") else "spawn")
    ranks = [context.Process(target=work, args=(rank, how, port)) for rank in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    sys.exit(max(rank.exitcode for rank in ranks))


if __name__ == "__main__":
    main()
