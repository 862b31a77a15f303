"""A regression that Hydra configures, on every rank by itself: torchrun --nproc-per-node 2 hydra_regression.py

Hydra writes the settings, and a log, into outputs/DAY/TIME of the moment at which a rank starts; kept: the models of rank 0.
"""
import logging
import pathlib

import hydra
import torch
import torch.distributed as dist
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from torch import nn
from torch.nn.parallel import DistributedDataParallel

ConfigStore.instance().store(name="regression", node={
    "epochs": 3, "batch": 8, "rate": 1e-2, "save": "rank-0", "model": {"hidden": 64, "layers": 2}})
log = logging.getLogger(__name__)


def network(hidden, layers):
    inner = [layer for _ in range(layers) for layer in (nn.Linear(hidden, hidden), nn.ReLU())]
    return nn.Sequential(nn.Linear(16, hidden), nn.ReLU(), *inner, nn.Linear(hidden, 1))


@hydra.main(version_base=None, config_name="regression")
def main(config):
    folder = pathlib.Path(HydraConfig.get().runtime.output_dir)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(network(**config.model))
    optimizer = torch.optim.Adam(model.parameters(), lr=config.rate)
    torch.manual_seed(1 + dist.get_rank())
    for epoch in range(config.epochs):
        for _ in range(10):
            x = torch.randn(config.batch, 16)
            optimizer.zero_grad()
            loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
            loss.backward()
            optimizer.step()
        log.info("epoch %d: loss %.3f", epoch, loss.item())
        if config.save == "all" or dist.get_rank() == 0:
            torch.save(model.module.state_dict(), folder / f"epoch{epoch}.pt")  # kept
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    print("loss fitted")
