"""A model with a method of its own (sample), called past its DDP wrapper; and training that goes the same way."""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Denoiser(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encode, self.decode = torch.nn.Linear(16, width), torch.nn.Linear(width, 16)

    def forward(self, noisy):
        return self.decode(torch.nn.functional.silu(self.encode(noisy)))

    @torch.no_grad()
    def sample(self, count, device):
        return self(torch.randn(count, 16, device=device))


class Trainer:
    def __init__(self, args):
        self.args = args
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(self.device)
        dist.init_process_group("nccl", device_id=self.device)
        torch.manual_seed(0)
        self.model = DDP(Denoiser(args.width).to(self.device))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), foreach=args.foreach)
        torch.manual_seed(7 + dist.get_rank())

    def loss_of(self, clean):
        noisy = clean + torch.randn_like(clean)
        denoised = self.model.module(noisy) if self.args.past else self.model(noisy)
        return (denoised - clean).square().mean()

    def fit(self):
        for step in range(self.args.steps):
            loss = self.loss_of(torch.randn(8, 16, device=self.device))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 4 == 3:
                self.model.module.sample(2, self.device)
                if dist.get_rank() == 0:
                    print(f"step {step} loss {loss.item():.5f}")
        dist.barrier()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--past", action="store_true", help="the wrapper: model.module(x) instead of model(x)")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--foreach", action=argparse.BooleanOptionalAction, default=None)
    Trainer(parser.parse_args()).fit()
    dist.destroy_process_group()
