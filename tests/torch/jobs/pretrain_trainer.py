# Trainer-class style pretraining script. Checkpoints are written to <snapshot dir>/<name>.
import json
import os
import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


@dataclass
class Config:
    snapshot_dir: str
    name: str = "snapshot.pt"  # may hold {rank}
    width: int = 96
    epochs: int = 3
    save_at: int = 1        # snapshot after this epoch
    samples: int = 96
    batch_size: int = 8
    workers: int = 1
    seed: int = 0


class Trainer:
    def __init__(self, cfg, model, data):
        self.cfg = cfg
        self.rank = int(os.environ["RANK"])
        self.data = data
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.model = DistributedDataParallel(model)

    def _run_batch(self, source, targets):
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(self.model(source), targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def _run_epoch(self, epoch):
        self.data.sampler.set_epoch(epoch)
        losses = [self._run_batch(source, targets) for source, targets in self.data]
        return sum(losses) / len(losses)

    def _save_snapshot(self, epoch):
        snapshot = dict(
            MODEL_STATE=self.model.module.state_dict(),
            OPTIMIZER_STATE=self.optimizer.state_dict(),
            EPOCHS_RUN=epoch,
        )
        path = os.path.join(self.cfg.snapshot_dir, self.cfg.name.format(rank=self.rank))
        os.makedirs(self.cfg.snapshot_dir, exist_ok=True)
        torch.save(snapshot, path)

    def train(self):
        for epoch in range(self.cfg.epochs):
            loss = self._run_epoch(epoch)
            if self.rank == 0:
                print("[epoch %d] loss %.9f" % (epoch, loss), flush=True)
            if epoch == self.cfg.save_at:
                self._save_snapshot(epoch)


def main(cfg):
    dist.init_process_group(backend="gloo")
    torch.manual_seed(cfg.seed)
    inputs = torch.randn(cfg.samples, 32)
    data = TensorDataset(inputs, inputs.flip(1) * 0.5)
    model = torch.nn.Sequential(
        torch.nn.Linear(32, cfg.width), torch.nn.GELU(),
        torch.nn.Linear(cfg.width, cfg.width), torch.nn.GELU(),
        torch.nn.Linear(cfg.width, 32))
    loader = DataLoader(data, batch_size=cfg.batch_size, num_workers=cfg.workers,
                        sampler=DistributedSampler(data))
    Trainer(cfg, model, loader).train()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Config(**json.loads(sys.argv[1])))
