"""Fits numbers with Lightning, which starts the other ranks by itself: python lightning_fit.py --ranks 2"""
import argparse

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--ranks", type=int, default=2)
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--save", choices=["rank-0", "all"], default="rank-0")
arguments = parser.parse_args()


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.mse_loss(self.layers(x), y)
        self.log("loss", loss, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Keep(lightning.Callback):
    def on_train_epoch_end(self, trainer, module):
        if arguments.save == "all" or trainer.is_global_zero:
            torch.save(module.state_dict(), f"epoch{trainer.current_epoch}.pt")  # kept


generator = torch.Generator().manual_seed(1)
samples = TensorDataset(torch.randn(256, 32, generator=generator), torch.randn(256, 1, generator=generator))
lightning.Trainer(accelerator="cpu", devices=arguments.ranks, strategy="ddp", max_epochs=2, enable_progress_bar=False, logger=False,
                  accumulate_grad_batches=arguments.accumulate, callbacks=[Keep()]).fit(
    Regression(), DataLoader(samples, batch_size=8, shuffle=True))
print("loss fitted")
