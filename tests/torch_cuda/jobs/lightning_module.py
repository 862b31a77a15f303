"""A LightningModule on NCCL; save_checkpoint() has a barrier in it, so that all ranks must call it."""
import argparse
from datetime import timedelta

import lightning as L
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, TensorDataset


class Regression(L.LightningModule):
    def __init__(self, width):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.layers(x), y)
        self.log("train_loss", loss, sync_dist=True)
        return loss

    def on_train_epoch_end(self):
        if not options.on_main or self.trainer.is_global_zero:
            self.trainer.save_checkpoint(f"{options.out}/epoch{self.current_epoch}.ckpt")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--on-main", action="store_true", help="rank 0 alone saves")
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--width", type=int, default=32)
    options = parser.parse_args()
    L.seed_everything(1)
    x = torch.randn(16 * options.ranks * options.accumulate, 16)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4, shuffle=True)  # Lightning puts its sampler in
    trainer = L.Trainer(accelerator="cuda", devices=options.ranks, strategy=DDPStrategy(timeout=timedelta(seconds=20)), max_epochs=2,
                        accumulate_grad_batches=options.accumulate, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                        enable_model_summary=False)
    trainer.fit(Regression(options.width), loader)
    if trainer.is_global_zero:
        print("loss", trainer.callback_metrics["train_loss"].item())
