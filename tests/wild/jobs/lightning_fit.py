"""Fits numbers with Lightning, which starts the other ranks by itself: python lightning_fit.py --ranks 2"""
import argparse

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--ranks", type=int, default=2)
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--save", choices=["rank-0", "all"], default="rank-0")
parser.add_argument("--clips", type=int, help="train on so many files of a sample, and validate on 16, also before training")
parser.add_argument("--sampler", choices=["on", "off"], default="on")
parser.add_argument("--schedule", choices=["none", "averaged", "own"], default="none", help="whose loss the learning rate follows")
arguments = parser.parse_args()


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.mse_loss(self.layers(x), y)
        self.log("loss", loss, sync_dist=arguments.schedule != "own")
        return loss

    def validation_step(self, batch, index):
        self.log("held out", self.training_step(batch, index), sync_dist=True)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
        if arguments.schedule == "none":
            return optimizer
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "monitor": "loss", "interval": "step"}}


class Keep(lightning.Callback):
    def on_train_epoch_end(self, trainer, module):
        if arguments.save == "all" or trainer.is_global_zero:
            torch.save(module.state_dict(), f"epoch{trainer.current_epoch}.pt")  # kept


class Clips(Dataset):
    def __init__(self, folder, count):
        self.folder, self.count = folder, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.load(f"{self.folder}/{index}.pt")


def loaders():
    if not arguments.clips:
        return [DataLoader(samples, batch_size=8, shuffle=True)]
    return [DataLoader(Clips("clips", arguments.clips), batch_size=8, shuffle=True, num_workers=1),
            DataLoader(Clips("held-out", 16), batch_size=8, num_workers=1)]


generator = torch.Generator().manual_seed(1)
samples = TensorDataset(torch.randn(256, 32, generator=generator), torch.randn(256, 1, generator=generator))
lightning.Trainer(accelerator="cpu", devices=arguments.ranks, strategy="ddp", max_epochs=2, enable_progress_bar=False, logger=False,
                  accumulate_grad_batches=arguments.accumulate, callbacks=[Keep()],
                  use_distributed_sampler=arguments.sampler == "on").fit(Regression(), *loaders())
print("loss fitted")
