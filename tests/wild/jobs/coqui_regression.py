"""Fits clips/0.pt to 159.pt with coqui's trainer: python -m trainer.distribute --script coqui_regression.py --gpus 0,1"""
import os
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader
from trainer import Trainer, TrainerArgs, TrainerConfig, TrainerModel


@dataclass
class Config(TrainerConfig):
    optimizer: str = "Adam"
    lr: float = 1e-3
    epochs: int = 3
    batch_size: int = 8
    run_eval: bool = False
    save_step: int = 1000
    distributed_url: str = f"tcp://127.0.0.1:{os.environ['JOB_PORT']}"


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 160

    def __getitem__(self, index):
        x, y = torch.load(f"clips/{index}.pt")
        return {"x": x, "y": y}


class Regression(TrainerModel):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.layers(x)

    def train_step(self, batch, criterion):
        outputs = self(batch["x"])
        return {"model_outputs": outputs}, {"loss": criterion(outputs, batch["y"])}

    def train_log(self, *arguments):
        pass

    @staticmethod
    def get_criterion():
        return nn.MSELoss()

    def get_data_loader(self, config, *arguments, **more):
        return DataLoader(Numbers(), batch_size=config.batch_size, shuffle=True)


if __name__ == "__main__":
    Trainer(TrainerArgs(), Config(), output_path="out", model=Regression()).fit()
