"""What a dry run costs, with PyTorch's CUDA wheel: pairs of runs in turn, on the CPU and under `ddpscope run --cpu`.

dry_run.py [PAIRS] [PYTHON]   PYTHON has the wheel (tests/torch_cuda/environment.sh); DDPSCOPE_BUILD is the build folder

import: seconds until `import torch` is done. operator: an addition of four numbers, a thousand of them in a row. models: processor time of
20 training steps. All with one thread for the kernels.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from pairs import in_turn, interval

STEPS, OPERATORS = 20, 1000


def models():
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, width=128):
            super().__init__()
            layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True, dropout=0)
            self.embed, self.layers, self.head = nn.Embedding(500, width), nn.TransformerEncoder(layer, 4), nn.Linear(width, 500)

        def forward(self, tokens):
            return self.head(self.layers(self.embed(tokens))).flatten(0, 1)

    convolutions = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1),
                                 nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 10))
    yield "transformer", Attention(), torch.randint(500, (8, 64)), torch.randint(500, (512,))
    yield "convolutions", convolutions, torch.randn(16, 3, 32, 32), torch.randint(10, (16,))


def job(device):
    begin = time.perf_counter()
    import torch
    print("import", time.perf_counter() - begin)
    torch.set_num_threads(1)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    x = torch.ones(4, device=device)
    for _ in range(2):  # the first time operators are looked up
        wait()
        begin = time.perf_counter()
        for _ in range(OPERATORS):
            x.add_(1)
        wait()
        took = time.perf_counter() - begin
    print("operator", 1e6 * took / OPERATORS)
    torch.manual_seed(1)
    for name, model, inputs, wanted in models():
        model, inputs, wanted = model.to(device), inputs.to(device), wanted.to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for step in range(STEPS + 3):
            if step == 3:
                wait()
                begin = time.process_time()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), wanted).backward()
            optimizer.step()
        wait()
        print(name, time.process_time() - begin)


def figures_of_run(python, device, before):
    done = subprocess.run([*before, python, __file__, "--job", device], stdout=subprocess.PIPE, text=True, check=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    return {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines() if len(line.split()) == 2}


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    python = sys.argv[2] if len(sys.argv) > 2 else sys.executable
    ddpscope = pathlib.Path(os.environ["DDPSCOPE_BUILD"]) / "bin" / "ddpscope"
    with tempfile.TemporaryDirectory() as folder:
        cpu, dry = in_turn(pairs, lambda _: figures_of_run(python, "cpu", []),
                           lambda pair: figures_of_run(python, "cuda", [ddpscope, "run", "--cpu", "-o", f"{folder}/{pair}", "--"]))
    for name in cpu[0]:
        alone, ours = ([run[name] for run in runs] for runs in (cpu, dry))
        ratios = [mine / theirs for mine, theirs in zip(ours, alone)]
        low, high = interval(ratios)
        print(f"{name}: on the CPU {statistics.median(alone):.3f}, dry run {statistics.median(ours):.3f} (median of {pairs}); "
              f"difference {statistics.median(mine - theirs for mine, theirs in zip(ours, alone)):.3f}; "
              f"ratio {statistics.median(ratios):.2f}, 95% from {low:.2f} to {high:.2f}")


if __name__ == "__main__":
    job(sys.argv[-1]) if "--job" in sys.argv else main()
