"""Fits clips with accelerate on CPUs: torchrun accelerated_clips.py FOLDER"""
import argparse
import os

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--accumulate", choices=["within", "by-hand"], default="within")
parser.add_argument("--loader", choices=["prepared", "plain"], default="prepared")
parser.add_argument("--save", choices=["main", "all"], default="main")
parser.add_argument("--clips", type=int, default=128)
arguments = parser.parse_args()
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2 if arguments.accumulate == "within" else 1)
set_seed(7)


class Clips(Dataset):
    def __len__(self):
        return arguments.clips

    def __getitem__(self, index):
        with open(os.path.join(arguments.folder, f"clip{index}.raw"), "rb") as file:
            clip = torch.frombuffer(bytearray(file.read()), dtype=torch.int16).float() / 32768
        return clip, clip.square().mean()


if accelerator.is_main_process:
    os.makedirs(arguments.folder, exist_ok=True)
    for number in range(arguments.clips):
        with open(os.path.join(arguments.folder, f"clip{number}.raw"), "wb") as file:
            file.write(torch.randint(-9000, 9000, (400,), dtype=torch.int16).numpy().tobytes())
accelerator.wait_for_everyone()

loader = DataLoader(Clips(), batch_size=4, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(400, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters()))
if arguments.loader == "prepared":
    loader = accelerator.prepare(loader)  # each rank its share
for epoch in range(3):
    for step, (clips, levels) in enumerate(loader):
        if arguments.accumulate == "within":
            with accelerator.accumulate(model):
                loss = (model(clips).squeeze(1) - levels).square().mean()
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            continue
        loss = (model(clips).squeeze(1) - levels).square().mean()
        accelerator.backward(loss / 2)  # by hand
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()
    accelerator.wait_for_everyone()
    if arguments.save == "all" or accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), f"epoch{epoch}.pt")  # kept
    accelerator.wait_for_everyone()
accelerator.print("loss", loss.item())
accelerator.end_training()
