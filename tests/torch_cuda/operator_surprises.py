"""Things that need a GPU, or that a dry run leads to what works; prints what came of each as JSON."""
import json
import os

import torch
import torch.nn.functional as F
import triton
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

said = {}


def attempt(name, function):
    try:
        said[name] = function()
    except Exception as error:
        said[name] = "%s: %s" % (type(error).__name__, error)


@triton.jit
def written_by_hand(values):
    pass


def compiled(**options):
    values = torch.linspace(-1, 1, 8, device="cuda", requires_grad=True)
    layer = nn.Linear(8, 2).cuda()
    model = torch.compile(lambda v: F.gelu(layer(v)), **options)
    model(values).sum().backward()
    fast, slow = values.grad.clone(), torch.autograd.grad(F.gelu(layer(values)).sum(), values)[0]
    return torch.allclose(fast, slow)


def compiled_for_the_host():
    """Inductor compiles C++ for tensors of the host."""
    return torch.compile(lambda v: v * 2 + 1, backend="eager")(torch.ones(2)).tolist()


def flash_by_force(dtype):
    query = torch.randn(1, 2, 4, 8, device="cuda", dtype=dtype)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return list(F.scaled_dot_product_attention(query, query, query).shape)


def cudnn_on():
    torch.backends.cudnn.enabled = True
    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        layer = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).cuda()
        return list(layer(torch.randn(2, 1, 5, 5, device="cuda")).shape)


def padded_encoder():
    """In evaluation, where PyTorch has a short cut by nested tensors."""
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1).cuda().eval()
    padding = torch.tensor([[False, False, True], [False, True, True]], device="cuda")
    with torch.no_grad():
        return list(encoder(torch.randn(2, 3, 8, device="cuda"), src_key_padding_mask=padding).shape)


def in_a_child():
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            torch.ones(1, device="cuda")
            os.write(write, b"computed")
        except RuntimeError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(read, 1000).decode()


def main():
    torch.ones(1, device="cuda")
    attempt("triton", lambda: written_by_hand[(1,)](torch.ones(1, device="cuda")))
    attempt("compile", compiled)
    attempt("compile, inductor by name", lambda: compiled(backend="inductor", mode="reduce-overhead"))
    attempt("compile for the host", compiled_for_the_host)
    attempt("flash, half", lambda: flash_by_force(torch.float16))
    attempt("flash, float", lambda: flash_by_force(torch.float32))
    attempt("cudnn", cudnn_on)
    attempt("padded encoder", padded_encoder)
    attempt("too much memory", lambda: torch.empty(40 << 30, dtype=torch.uint8, device="cuda"))
    attempt("child", in_a_child)
    print(json.dumps(said, default=repr))


main()
