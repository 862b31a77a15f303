"""Batch norm across ranks (SyncBatchNorm), RMS norm, cuDNN's batch norm."""
import torch

from .registry import writes, writes_out


def _accumulated(tensor):
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _per_channel(vector, like):
    return vector.reshape(1, -1, *[1] * (like.dim() - 2))


def _other_dims(tensor):
    return [dim for dim in range(tensor.dim()) if dim != 1]


@writes("batch_norm_stats")
def batch_norm_stats(input, eps):
    x = _accumulated(input)
    variance, mean = torch.var_mean(x, _other_dims(x), correction=0)
    return mean, (variance + eps).rsqrt()


@writes("batch_norm_elemt", "batch_norm_elemt.out")
def batch_norm_elemt(input, weight, bias, mean, invstd, eps, *, out=None):
    x = (_accumulated(input) - _per_channel(mean, input)) * _per_channel(invstd, input)
    if weight is not None:
        x = x * _per_channel(weight, input)
    if bias is not None:
        x = x + _per_channel(bias, input)
    x = x.to(input.dtype)
    if out is None:
        return x.contiguous(memory_format=torch._prims_common.suggest_memory_format(input))
    return out.copy_(x)


@writes("batch_norm_gather_stats_with_counts")
def gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts):
    counts = counts.to(mean.dtype).reshape(-1, 1)
    total = counts.sum()
    variance = invstd.pow(-2) - eps
    common = (mean * counts).sum(0) / total
    common_variance = ((variance + (mean - common) ** 2) * counts).sum(0) / total
    if running_mean is not None:
        running_mean.copy_((1 - momentum) * running_mean + momentum * common)
    if running_var is not None:
        running_var.copy_((1 - momentum) * running_var + momentum * common_variance * (total / (total - 1)))
    return common, (common_variance + eps).rsqrt()


@writes("batch_norm_gather_stats")
def gather_stats(input, mean, invstd, running_mean, running_var, momentum, eps, count):
    counts = torch.full((mean.shape[0],), float(count), dtype=mean.dtype, device=mean.device)
    return gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts)


@writes("batch_norm_backward_reduce")
def backward_reduce(grad_out, input, mean, invstd, weight, input_g, weight_g, bias_g):
    dims = _other_dims(input)
    grad, x = _accumulated(grad_out), _accumulated(input)
    sum_dy = grad.sum(dims)
    sum_dy_xmu = (grad * (x - _per_channel(mean, input))).sum(dims)
    grad_dtype = weight.dtype if weight is not None else sum_dy.dtype
    return (sum_dy if input_g else None, sum_dy_xmu if input_g else None,
            (sum_dy_xmu * invstd).to(grad_dtype) if weight_g else None,
            sum_dy.to(grad_dtype) if bias_g else None)


@writes("batch_norm_backward_elemt")
def backward_elemt(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    total = count.sum().to(sum_dy.dtype)
    grad, x = _accumulated(grad_out), _accumulated(input)
    correction = (x - _per_channel(mean, input)) * _per_channel(invstd * invstd * (sum_dy_xmu / total), input)
    result = (grad - _per_channel(sum_dy / total, input) - correction) * _per_channel(invstd, input)
    if weight is not None:
        result = result * _per_channel(weight, input)
    return result.to(input.dtype)


@writes("_fused_rms_norm_backward")
def rms_norm_backward(grad_out, input, normalized_shape, rstd, weight, output_mask):
    inner = list(range(input.dim() - len(normalized_shape), input.dim()))
    outer = list(range(input.dim() - len(normalized_shape)))
    grad = _accumulated(grad_out)
    normed = _accumulated(input) * rstd
    scaled = grad if weight is None else grad * weight
    grad_input = rstd * (scaled - normed * (scaled * normed).mean(inner, keepdim=True)) if output_mask[0] else None
    grad_weight = None
    if output_mask[1] and weight is not None:
        product = grad * normed
        grad_weight = (product.sum(outer) if outer else product).to(weight.dtype)
    return None if grad_input is None else grad_input.to(input.dtype), grad_weight


@writes("cudnn_batch_norm")
def cudnn_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, epsilon):
    out, mean, invstd = torch.ops.aten.native_batch_norm(input, weight, bias, running_mean, running_var, training,
                                                         momentum, epsilon)
    return out, mean, invstd, torch.empty(0, dtype=torch.uint8, device=input.device)


@writes("cudnn_batch_norm_backward")
def cudnn_batch_norm_backward(input, grad_output, weight, running_mean, running_var, save_mean, save_var, epsilon,
                              reserveSpace):
    return torch.ops.aten.native_batch_norm_backward(grad_output, input, weight, running_mean, running_var, save_mean,
                                                     save_var, True, epsilon, [True, True, True])


for _name in ("cudnn_batch_norm",):
    writes_out(_name + ".out", of=_name)
