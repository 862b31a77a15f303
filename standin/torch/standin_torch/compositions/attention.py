"""Flash and memory-efficient attention: the CPU's flash attention where it can do the same, else the formula.

What a GPU keeps of its random numbers for backward is here the dropout mask itself."""
import torch

from .registry import writes

_cpu_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_cpu_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def _heads_like(query, tensor):
    """Grouped queries: several heads of the query share one of the others."""
    return tensor if tensor.shape[1] == query.shape[1] else \
        tensor.repeat_interleave(query.shape[1] // tensor.shape[1], 1)


def _heads_back(gradient, tensor):
    if gradient.shape[1] == tensor.shape[1]:
        return gradient
    return gradient.unflatten(1, (tensor.shape[1], -1)).sum(2)


def _weights(query, key, bias, is_causal, scale):
    """Attention weights before dropout, and the logarithm of what they were divided by; in float."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = torch.matmul(query.float(), key.float().transpose(-2, -1)) * scale
    if bias is not None:
        scores = scores + bias.float()
    if is_causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~allowed, float("-inf"))
    logsumexp = scores.logsumexp(-1)
    return (scores - logsumexp.unsqueeze(-1)).exp(), logsumexp


def _forward(query, key, value, bias, dropout_p, is_causal, scale):
    """Output, logsumexp, mask; the mask is empty without dropout."""
    key, value = _heads_like(query, key), _heads_like(query, value)
    if dropout_p == 0:
        out, logsumexp = _cpu_forward(query, key, value, 0.0, is_causal, attn_mask=bias, scale=scale)
        return out, logsumexp, torch.empty(0, dtype=torch.bool, device=query.device)
    weights, logsumexp = _weights(query, key, bias, is_causal, scale)
    mask = torch.empty_like(weights, dtype=torch.bool).bernoulli_(1 - dropout_p)
    out = torch.matmul(weights * mask / (1 - dropout_p), value.float())
    return out.to(query.dtype), logsumexp, mask


def _backward(grad_out, query, key, value, bias, out, logsumexp, mask, dropout_p, is_causal, scale, needs_bias):
    full_key, full_value = _heads_like(query, key), _heads_like(query, value)
    if dropout_p == 0 and not needs_bias:
        grads = _cpu_backward(grad_out, query, full_key, full_value, out, logsumexp, 0.0, is_causal, attn_mask=bias,
                              scale=scale)
        return grads[0], _heads_back(grads[1], key), _heads_back(grads[2], value), None
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    weights, _ = _weights(query, full_key, bias, is_causal, scale)
    kept = weights * mask / (1 - dropout_p) if dropout_p else weights
    grad = grad_out.float()
    grad_value = torch.matmul(kept.transpose(-2, -1), grad)
    grad_weights = torch.matmul(grad, full_value.float().transpose(-2, -1))
    if dropout_p:
        grad_weights = grad_weights * mask / (1 - dropout_p)
    grad_scores = weights * (grad_weights - (weights * grad_weights).sum(-1, keepdim=True))
    grad_query = torch.matmul(grad_scores, full_key.float()) * factor
    grad_key = torch.matmul(grad_scores.transpose(-2, -1), query.float()) * factor
    return (grad_query.to(query.dtype), _heads_back(grad_key, key).to(key.dtype),
            _heads_back(grad_value, value).to(value.dtype),
            grad_scores.sum_to_size(bias.shape).to(bias.dtype) if needs_bias else None)


def _none_yet(query):
    return torch.empty(0, dtype=torch.int64, device=query.device)


@writes("_scaled_dot_product_flash_attention")
def flash(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    out, logsumexp, mask = _forward(query, key, value, None, dropout_p, is_causal, scale)
    empty = _none_yet(query)
    return out, logsumexp, None, None, query.shape[2], key.shape[2], mask, empty, empty.to(query.dtype)


@writes("_scaled_dot_product_flash_attention_backward")
def flash_backward(grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
                   is_causal, philox_seed, philox_offset, *, scale=None):
    return _backward(grad_out, query, key, value, None, out, logsumexp, philox_seed, dropout_p, is_causal, scale,
                     False)[:3]


@writes("_scaled_dot_product_efficient_attention")
def efficient(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    out, logsumexp, mask = _forward(query, key, value, attn_bias, dropout_p, is_causal, scale)
    return out, logsumexp, mask, _none_yet(query)


@writes("_scaled_dot_product_efficient_attention_backward")
def efficient_backward(grad_out, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p,
                       grad_input_mask, is_causal=False, *, scale=None):
    if grad_out is None:
        return None, None, None, None
    return _backward(grad_out, query, key, value, attn_bias, out, logsumexp, philox_seed, dropout_p, is_causal, scale,
                     attn_bias is not None and grad_input_mask[3])


@writes("_scaled_dot_product_cudnn_attention")
def cudnn(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False, *,
          scale=None):
    out, logsumexp, mask = _forward(query, key, value, attn_bias, dropout_p, is_causal, scale)
    empty = _none_yet(query)
    return out, logsumexp, None, None, query.shape[2], key.shape[2], mask, empty, empty.to(query.dtype)


@writes("_scaled_dot_product_cudnn_attention_backward")
def cudnn_backward(grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q,
                   cum_seq_k, max_q, max_k, dropout_p, is_causal, *, scale=None):
    return _backward(grad_out, query, key, value, attn_bias, out, logsumexp, philox_seed, dropout_p, is_causal, scale,
                     False)[:3]
