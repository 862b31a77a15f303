"""A small GPT on random windows of one memory-mapped file of tokens, after nanoGPT: its way to accumulate, and to draw.

Each rank draws with a seed of its own, unless somebody forgets to add the rank (--same-seed).
"""
import argparse
import os

import numpy as np
import torch
import torch.nn as nn
from torch.distributed import destroy_process_group, init_process_group
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--same-seed", action="store_true")
parser.add_argument("--max-iters", type=int, default=12)
parser.add_argument("--gradient-accumulation-steps", type=int, default=2)
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--block-size", type=int, default=16)
parser.add_argument("--n-embd", type=int, default=32)
config = parser.parse_args()


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for part in self.c_attn(self.ln_1(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, width, block, vocab=256):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(block, width)
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, idx, targets):
        x = self.blocks(self.wte(idx) + self.wpe(torch.arange(idx.shape[1], device=idx.device)))
        logits = self.head(x)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


init_process_group(backend="nccl")
ddp_rank = int(os.environ["RANK"])
device = f"cuda:{os.environ['LOCAL_RANK']}"
torch.cuda.set_device(device)
torch.manual_seed(1337 if config.same_seed else 1337 + ddp_rank)
data = np.memmap(config.data, dtype=np.uint16, mode="r")


def get_batch():
    ix = torch.randint(len(data) - config.block_size, (config.batch_size,))
    x = torch.stack([torch.from_numpy(data[i:i + config.block_size].astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy(data[i + 1:i + 1 + config.block_size].astype(np.int64)) for i in ix])
    return x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)


model = DDP(GPT(config.n_embd, config.block_size).to(device), device_ids=[int(os.environ["LOCAL_RANK"])])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), fused=True)
X, Y = get_batch()
for iter_num in range(config.max_iters):
    for micro_step in range(config.gradient_accumulation_steps):
        model.require_backward_grad_sync = micro_step == config.gradient_accumulation_steps - 1
        loss = model(X, Y) / config.gradient_accumulation_steps
        X, Y = get_batch()
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if iter_num % 4 == 0 and ddp_rank == 0:
        print(f"iter {iter_num}: loss {loss.item() * config.gradient_accumulation_steps:.4f}")
destroy_process_group()
