"""What recording costs a training step: pairs of runs in turn, plain and recorded, and an interval for their ratio.

training_step.py [PAIRS] [PYTHON]   PYTHON has PyTorch; DDPSCOPE_BUILD is the build folder

Two ranks on Gloo, a thread each, DistributedDataParallel with 20 layers, SGD: about 10 ms a step.
"""
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from pairs import in_turn, interval

STEPS, WARM_UP = 400, 50


def train():
    import torch
    import torch.distributed as dist
    from torch import nn

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    layers = [layer for _ in range(20) for layer in (nn.Linear(192, 192), nn.ReLU())]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(64, 192)
    took = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        took.append(time.perf_counter() - begin)
    if dist.get_rank() == 0:
        print("step", statistics.median(took[WARM_UP:]))
    dist.destroy_process_group()


def step_of_run(python, before):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = f'for rank in 0 1; do RANK=$rank LOCAL_RANK=$rank "{python}" "{__file__}" --job & done; wait'
    done = subprocess.run([*before, "sh", "-c", ranks], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return 1000 * float(next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("step ")))


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    python = sys.argv[2] if len(sys.argv) > 2 else sys.executable
    ddpscope = pathlib.Path(os.environ["DDPSCOPE_BUILD"]) / "bin" / "ddpscope"
    with tempfile.TemporaryDirectory() as folder:
        plain, recorded = in_turn(pairs, lambda _: step_of_run(python, []),
                                  lambda pair: step_of_run(python, [ddpscope, "run", "-o", f"{folder}/{pair}", "--"]))
    ratios = [with_us / without for with_us, without in zip(recorded, plain)]
    low, high = interval(ratios)
    print(f"a step, median of {pairs} runs: plain {statistics.median(plain):.2f} ms, recorded {statistics.median(recorded):.2f} ms; "
          f"recorded / plain {statistics.median(ratios):.3f}, 95% from {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    train() if "--job" in sys.argv else main()
