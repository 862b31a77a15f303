"""Training with Hugging Face's accelerate: the main process writes the statistics, all read them.

accelerate launch --multi_gpu --num_processes 2 accelerated.py STATISTICS
"""
import argparse
import time

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("statistics")
parser.add_argument("--samples", type=int, default=48)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--forget", action="store_true", help="nobody waits for the statistics")
parser.add_argument("--late", type=float, default=0, help="seconds that all ranks but the first take longer")
args = parser.parse_args()

accelerator = Accelerator(cpu=True)
torch.manual_seed(args.seed)
samples = torch.randn(args.samples, 8)
if accelerator.is_main_process:
    torch.save({"mean": samples.mean(0), "std": samples.std(0)}, args.statistics)
if not args.forget:
    accelerator.wait_for_everyone()
elif not accelerator.is_main_process:
    time.sleep(args.late)
statistics = torch.load(args.statistics)

data = TensorDataset((samples - statistics["mean"]) / statistics["std"], samples.sum(1, keepdim=True))
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=4, shuffle=True))
for inputs, targets in loader:
    loss = (model(inputs) - targets).square().mean()
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
accelerator.wait_for_everyone()
accelerator.print(f"loss {loss.item():.6f} on {accelerator.num_processes} processes")
