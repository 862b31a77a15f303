"""Trains small models on the CPU and on "cuda" from the same weights and batches; prints their losses as JSON."""
import copy
import json

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

STEPS = 4


class LastOutput(nn.Module):
    """A recurrent net and what comes of its last step."""

    def __init__(self, kind):
        super().__init__()
        self.net = kind(8, 16, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        return self.out(self.net(x)[0][:, -1])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        return self.out(self.encoder(self.embedding(x)).mean(1))


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        return self.second(checkpoint(lambda value: F.gelu(self.first(value)), x, use_reentrant=False))


def mlp():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


def conv_net():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=8),
                         nn.GroupNorm(2, 8), nn.SiLU(), nn.ConvTranspose2d(8, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 4))


def rms_net():
    return nn.Sequential(nn.Linear(16, 32), nn.RMSNorm(32), nn.GELU(), nn.Linear(32, 4))


def half_norm():
    """Weights that are bfloat16 themselves."""
    return nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.Linear(32, 4)).bfloat16()


def vector():
    return torch.randn(6, 16)


def sgd(parameters):
    # By default CUDA takes foreach=True and the CPU does not; in bfloat16 the two round otherwise.
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, foreach=True)


def adamw(parameters, **options):
    return torch.optim.AdamW(parameters, lr=1e-2, **options)


# Name: model, batch, optimizer, type of autocast.
CASES = {
    "mlp, SGD": (mlp, vector, sgd, None),
    "mlp, AdamW": (mlp, vector, adamw, None),
    "mlp, AdamW fused": (mlp, vector, lambda parameters: adamw(parameters, fused=True), None),
    "mlp, AdamW foreach=False": (mlp, vector, lambda parameters: adamw(parameters, foreach=False), None),
    "mlp, Adagrad": (mlp, vector, lambda parameters: torch.optim.Adagrad(parameters, lr=1e-2), None),
    "conv net": (conv_net, lambda: torch.randn(6, 3, 12, 12), adamw, None),
    "transformer": (Transformer, lambda: torch.randint(0, 50, (6, 10)), adamw, None),
    "lstm": (lambda: LastOutput(nn.LSTM), lambda: torch.randn(6, 5, 8), adamw, None),
    "gru": (lambda: LastOutput(nn.GRU), lambda: torch.randn(6, 5, 8), adamw, None),
    "rms norm": (rms_net, vector, adamw, None),
    "checkpointing": (Checkpointed, vector, adamw, None),
    "bfloat16 weights": (half_norm, lambda: vector().bfloat16(), sgd, None),
    # Autocast has other lists for CUDA than for the CPU: layers that both treat alike.
    "autocast bfloat16": (mlp, vector, adamw, torch.bfloat16),
    "autocast float16, GradScaler": (mlp, vector, sgd, torch.float16),
}


def train(model, batch, labels, make_optimizer, autocast, device):
    model = model.to(device)
    optimizer = make_optimizer(model.parameters())
    scaler = torch.amp.GradScaler(device, enabled=autocast == torch.float16, init_scale=256.0)
    losses = []
    for _ in range(STEPS):
        with torch.autocast(device, autocast or torch.bfloat16, enabled=autocast is not None):
            out = model(batch.to(device))
        loss = F.cross_entropy(out.float(), labels.to(device))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if autocast is not None:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


def dropout_facts():
    """What has to be true of dropout on CUDA."""
    x = torch.ones(1000, device="cuda")
    cpu_state = torch.get_rng_state()
    torch.cuda.manual_seed(3)
    first = F.dropout(x, 0.25)
    second = F.dropout(x, 0.25)
    torch.cuda.manual_seed(3)
    again = F.dropout(x, 0.25)
    untouched = torch.equal(cpu_state, torch.get_rng_state())
    net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 1)).cuda()
    values = torch.randn(4, 8, device="cuda")
    gradients = []
    for call in (net, lambda v: checkpoint(net, v, use_reentrant=False)):
        torch.cuda.manual_seed(5)
        gradients.append(torch.autograd.grad(call(values).sum(), net[0].weight)[0])
    return {"reproducible": torch.equal(first, again), "moves on": not torch.equal(first, second),
            "share kept": (first != 0).float().mean().item(), "scale": first.max().item(),
            "the CPU's generator is untouched": untouched,
            "checkpointing draws the same": torch.equal(*gradients)}


def graph_values():
    """Three replays of what was captured once."""
    total = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total += 1
        doubled = total * 2
    for _ in range(3):
        graph.replay()
    return [total.tolist(), doubled.tolist()]


def main():
    losses = {}
    for name, (make_model, make_batch, make_optimizer, autocast) in CASES.items():
        torch.manual_seed(0)
        model, batch, labels = make_model(), make_batch(), torch.randint(0, 4, (6,))
        losses[name] = {device: train(copy.deepcopy(model), batch, labels, make_optimizer, autocast, device)
                        for device in ("cpu", "cuda")}
    print(json.dumps({"losses": losses, "dropout": dropout_facts(), "graph": graph_values()}))


main()
