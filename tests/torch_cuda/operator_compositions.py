"""Operators that exist for CUDA only, against the same computation by others on the CPU; prints {name: difference} as JSON."""
import json

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

aten = torch.ops.aten
differences = {}


def compare(name, ours, reference):
    pairs = zip(ours, reference) if isinstance(ours, (list, tuple)) else [(ours, reference)]
    worst = 0.0
    for one, other in pairs:
        assert one.shape == other.shape and one.dtype == other.dtype, (name, one.shape, other.shape, one.dtype, other.dtype)
        scale = max(other.float().abs().max().item(), 1.0)
        worst = max(worst, (one.cpu().float() - other.float()).abs().max().item() / scale)
    differences[name] = worst


def sync_batch_norm():
    """Two ranks' halves together are one batch."""
    x, grad = torch.randn(6, 3, 4, 4), torch.randn(6, 3, 4, 4)
    weight, bias = torch.rand(3) + 0.5, torch.randn(3)
    reference = x.clone().requires_grad_()
    running = [torch.zeros(3), torch.ones(3)]
    out = F.batch_norm(reference, *running, weight, bias, True, 0.1, 1e-5)
    out.backward(grad)
    halves, grads = x.cuda().split([4, 2]), grad.cuda().split([4, 2])
    stats = [aten.batch_norm_stats(half, 1e-5) for half in halves]
    seen = [torch.zeros(3).cuda(), torch.ones(3).cuda()]
    counts = torch.tensor([4.0 * 16, 2.0 * 16]).cuda()
    mean, invstd = aten.batch_norm_gather_stats_with_counts(x.cuda(), torch.stack([s[0] for s in stats]), torch.stack([s[1] for s in stats]),
                                                            *seen, 0.1, 1e-5, counts)
    weight, bias = weight.cuda(), bias.cuda()
    outs = [aten.batch_norm_elemt(half, weight, bias, mean, invstd, 1e-5) for half in halves]
    compare("batch_norm_elemt", torch.cat(outs), out.detach())
    compare("batch_norm_gather_stats_with_counts", seen, running)
    sums = [aten.batch_norm_backward_reduce(g, half, mean, invstd, weight, True, True, True) for g, half in zip(grads, halves)]
    sum_dy, sum_dy_xmu = sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]
    back = [aten.batch_norm_backward_elemt(g, half, mean, invstd, weight, sum_dy, sum_dy_xmu, counts.int()) for g, half in zip(grads, halves)]
    compare("batch_norm_backward_elemt", torch.cat(back), reference.grad)


def attention(name, backend, dtype, **options):
    def run(device):
        torch.manual_seed(2)
        tensors = [torch.randn(2, heads, 7, 8).to(dtype).to(device).requires_grad_() for heads in (4, options.get("kv_heads", 4),
                                                                                                   options.get("kv_heads", 4))]
        bias = torch.randn(2, 4, 7, 7).to(dtype).to(device).requires_grad_() if options.get("bias") else None
        with sdpa_kernel(backend if device == "cuda" else SDPBackend.MATH):
            out = F.scaled_dot_product_attention(*tensors, attn_mask=bias, is_causal=options.get("causal", False),
                                                 enable_gqa="kv_heads" in options)
        leaves = tensors + ([bias] if bias is not None else [])
        return [out.detach(), *torch.autograd.grad(out.float().square().sum(), leaves)]
    compare(name, run("cuda"), run("cpu"))


def dropout_attention():
    """The gradient is that of the same mask: both are linear in the values."""
    torch.manual_seed(4)
    query, key, value, grad = (torch.randn(1, 2, 6, 8).cuda() for _ in range(4))
    value.requires_grad_()
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        out = F.scaled_dot_product_attention(query, key, value, dropout_p=0.5)
    back, = torch.autograd.grad(out, value, grad)
    compare("attention dropout", (back * value.detach()).sum().cpu(), (out.detach() * grad).sum().cpu())


def products():
    torch.manual_seed(1)
    a, b, c = torch.randn(3, 4).half(), torch.randn(4, 5).half(), torch.randn(3, 5).half()
    compare("mm.dtype", torch.mm(a.cuda(), b.cuda(), out_dtype=torch.float32), a.float() @ b.float())
    compare("addmm.dtype", torch.addmm(c.cuda(), a.cuda(), b.cuda(), beta=0.5, out_dtype=torch.float32),
            torch.addmm(c.float(), a.float(), b.float(), beta=0.5))
    batch = [torch.stack([tensor] * 2) for tensor in (c, a, b)]
    compare("baddbmm.dtype", torch.baddbmm(*(tensor.cuda() for tensor in batch), out_dtype=torch.float32),
            torch.baddbmm(*(tensor.float() for tensor in batch)))
    compare("bmm.dtype", torch.bmm(batch[1].cuda(), batch[2].cuda(), out_dtype=torch.float32), batch[1].float() @ batch[2].float())
    eight = torch.float8_e4m3fn
    left, right = torch.randn(8, 16).to(eight), torch.randn(2, 16, 16).to(eight).transpose(-2, -1)
    rows, columns, ends = torch.rand(8), torch.rand(2, 16), torch.tensor([3, 8], dtype=torch.int32)
    ours = torch._scaled_grouped_mm(left.cuda(), right.cuda(), rows.cuda(), columns.cuda(), offs=ends.cuda(), out_dtype=torch.bfloat16)
    parts = [(left[b:e].float() * rows[b:e, None]) @ (right[i].float() * columns[i]) for i, (b, e) in enumerate([(0, 3), (3, 8)])]
    compare("_scaled_grouped_mm", ours, torch.cat(parts).bfloat16())


def int4_product():
    weight = torch.randint(0, 256, (16, 32), dtype=torch.uint8)
    packed = aten._convert_weight_to_int4pack(weight.cuda(), 2)
    factors, x = torch.rand(2, 16, 2).bfloat16(), torch.randn(3, 64).bfloat16()
    numbers = torch.stack([weight.int() >> 4, weight.int() & 15], -1).reshape(16, 64)
    scales, zeros = (factors[..., i].t().repeat_interleave(32, 1).float() for i in (0, 1))
    compare("_weight_int4pack_mm", aten._weight_int4pack_mm(x.cuda(), packed, 32, factors.cuda()),
            (x.float() @ ((numbers - 8) * scales + zeros).t()).bfloat16())


def convolutions():
    x, weight = torch.randn(2, 4, 6, 6), torch.randn(4, 1, 3, 3)
    compare("_conv_depthwise2d", aten._conv_depthwise2d(x.cuda(), weight.cuda(), [3, 3], None, [1, 1], [1, 1], [1, 1]),
            F.conv2d(x, weight, padding=1, groups=4))
    full = torch.randn(5, 4, 3, 3)
    compare("cudnn_convolution", torch.cudnn_convolution(x.cuda(), full.cuda(), [1, 1], [2, 2], [1, 1], 1, False, False, False),
            F.conv2d(x, full, padding=1, stride=2))


def dropouts():
    x = torch.rand(500).cuda() + 1
    for name, (out, mask), scale in (("native_dropout", torch.native_dropout(x, 0.25, True), 1 / 0.75),
                                     ("_fused_dropout", torch._fused_dropout(x, 0.75), 1 / 0.75)):
        compare(name, out, (x * mask * scale).cpu())
        assert 0.6 < mask.float().mean().item() < 0.9, name


def rms_norm():
    for dtype in (torch.float32, torch.bfloat16):
        def run(device):
            torch.manual_seed(9)
            x, weight = torch.randn(4, 3, 8).to(dtype).to(device).requires_grad_(), torch.rand(8).to(dtype).to(device).requires_grad_()
            out = F.rms_norm(x, [8], weight, 1e-6)
            return [out.detach(), *torch.autograd.grad(out.float().square().sum(), (x, weight))]
        compare("rms_norm %s" % dtype, run("cuda"), run("cpu"))


def batch_norm_without_gradients():
    """PyTorch's meta kernel knows the results wrongly where weight or bias have no gradient."""
    def run(device):
        torch.manual_seed(3)
        x, weight = torch.randn(4, 3, 5).to(device).requires_grad_(), torch.rand(3).to(device).requires_grad_()
        bias = torch.zeros(3).to(device)
        gradients = []
        for training, used in ((True, (weight, bias)), (False, (weight, bias)), (True, (None, None))):
            out = F.batch_norm(x, torch.zeros(3).to(device), torch.ones(3).to(device), *used, training)
            gradients += [gradient for gradient in torch.autograd.grad(out.square().sum(), (x, weight), allow_unused=True)
                          if gradient is not None]
        return gradients
    compare("batch norm without gradients", run("cuda"), run("cpu"))


def types_that_only_cuda_has():
    numbers = torch.randint(0, 4, (50,), dtype=torch.int32)
    compare("histc of int32", torch.histc(numbers.cuda(), 4, 0, 3), torch.histc(numbers.float(), 4, 0, 3).int())
    box = torch.randn(1, 2, 4, 4, 4)
    compare("avg_pool3d of float16", F.avg_pool3d(box.half().cuda(), 2), F.avg_pool3d(box.half().float(), 2).half())
    wave = torch.randn(8)
    compare("rfft of float16", torch.view_as_real(torch.fft.rfft(wave.half().cuda())), torch.view_as_real(torch.fft.rfft(wave.half().float())).half())
    table = torch.zeros(4).to(torch.float8_e5m2).cuda()
    compare("scatter of float8", table.scatter(0, torch.tensor([1]).cuda(), torch.ones(1).to(torch.float8_e5m2).cuda()).float(),
            torch.tensor([0.0, 1.0, 0.0, 0.0]))
    for function in (torch.softmax, torch.log_softmax):  # which convert on their way
        results = []
        for device in ("cuda", "cpu"):
            x = wave.half().to(device).requires_grad_()
            out = function(x, 0, dtype=torch.float32)
            results.append([out.detach(), torch.autograd.grad(out.square().sum(), x)[0]])
        compare("%s of float16" % function.__name__, *results)
    slope = torch.full((6,), -1.0).half().cuda()
    F.rrelu(slope, 0.25, 0.25, training=True, inplace=True)
    compare("rrelu_ of float16", slope, torch.full((6,), -0.25).half())


def main():
    torch.manual_seed(0)
    sync_batch_norm()
    for dtype in (torch.float32, torch.bfloat16):
        attention("efficient %s" % dtype, SDPBackend.EFFICIENT_ATTENTION, dtype, causal=True)
    attention("efficient with bias", SDPBackend.EFFICIENT_ATTENTION, torch.float32, bias=True)
    attention("flash bfloat16", SDPBackend.FLASH_ATTENTION, torch.bfloat16, causal=True)
    attention("flash, grouped queries", SDPBackend.FLASH_ATTENTION, torch.bfloat16, kv_heads=2)
    dropout_attention()
    products()
    int4_product()
    convolutions()
    dropouts()
    rms_norm()
    batch_norm_without_gradients()
    types_that_only_cuda_has()
    print(json.dumps(differences))


main()
