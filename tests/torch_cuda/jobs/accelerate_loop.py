"""A training loop with accelerate: accumulation by accumulate(), metrics by gather_for_metrics()."""
import argparse
from datetime import timedelta

import torch
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs, set_seed
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("--gather-on-main", action="store_true", help="the main process alone gathers the metrics")
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--samples", type=int, default=64)
args = parser.parse_args()

accelerator = Accelerator(gradient_accumulation_steps=args.accumulate,
                          kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(seconds=20))])
set_seed(42)
x = torch.randn(args.samples, 12)
train = DataLoader(TensorDataset(x, x.mean(1, keepdim=True)), batch_size=4, shuffle=True, drop_last=True)
test = DataLoader(TensorDataset(x[:24]), batch_size=4)
model = torch.nn.Sequential(torch.nn.Linear(12, 40), torch.nn.Tanh(), torch.nn.Linear(40, 1))
model, optimizer, train, test = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3), train, test)
for epoch in range(2):
    model.train()
    for inputs, targets in train:
        with accelerator.accumulate(model):
            loss = (model(inputs) - targets).square().mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    model.eval()
    answers = []
    for inputs, in test:
        with torch.no_grad():
            answer = model(inputs)
        if args.gather_on_main and not accelerator.is_main_process:
            continue
        answers.append(accelerator.gather_for_metrics(answer))
    accelerator.wait_for_everyone()
    accelerator.print(f"epoch {epoch} loss {loss.item():.5f} of {sum(map(len, answers))} answers")
accelerator.wait_for_everyone()
accelerator.save_state(args.out)
accelerator.end_training()
