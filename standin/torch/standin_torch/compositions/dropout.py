"""Dropout, with numbers from the CUDA generator: the CPU's own would come from the CPU's stream."""
import torch

from .registry import writes


@writes("native_dropout")
def native_dropout(input, p, train=None):
    if train is False:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    mask = torch.empty_like(input, dtype=torch.bool).bernoulli_(1 - p)
    return input * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


@writes("_fused_dropout")
def fused_dropout(self, p, generator=None):
    mask = torch.empty_like(self, dtype=torch.uint8).bernoulli_(p, generator=generator)
    return self * mask * (1 / p), mask


@writes("_masked_scale")
def masked_scale(self, mask, scale):
    return self * mask * scale
