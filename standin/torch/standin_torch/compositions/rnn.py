"""LSTM and GRU cells."""
import torch

from .registry import writes, writes_out


def _gates(input_gates, hidden_gates, input_bias, hidden_bias):
    if input_bias is not None:
        input_gates = input_gates + input_bias
        hidden_gates = hidden_gates + hidden_bias
    return input_gates, hidden_gates


@writes("_thnn_fused_lstm_cell")
def lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    input_gates, hidden_gates = _gates(input_gates, hidden_gates, input_bias, hidden_bias)
    i, f, g, o = (hidden_gates + input_gates).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


@writes("_thnn_fused_lstm_cell_backward_impl")
def lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    if grad_hy is None and grad_cy is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, 1)
    tanh_cy = cy.tanh()
    grad_o = torch.zeros_like(o) if grad_hy is None else torch.ops.aten.sigmoid_backward(grad_hy * tanh_cy, o)
    grad_c = 0 if grad_hy is None else torch.ops.aten.tanh_backward(grad_hy * o, tanh_cy)
    if grad_cy is not None:
        grad_c = grad_c + grad_cy
    grad_gates = torch.cat([torch.ops.aten.sigmoid_backward(grad_c * g, i),
                            torch.ops.aten.sigmoid_backward(grad_c * cx, f),
                            torch.ops.aten.tanh_backward(grad_c * i, g), grad_o], 1)
    return grad_gates, grad_c * f, grad_gates.sum(0, keepdim=False) if has_bias else None


@writes("_thnn_fused_gru_cell")
def gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    input_gates, hidden_gates = _gates(input_gates, hidden_gates, input_bias, hidden_bias)
    ir, iz, in_ = input_gates.chunk(3, 1)
    hr, hz, hn = hidden_gates.chunk(3, 1)
    r, z = (hr + ir).sigmoid(), (hz + iz).sigmoid()
    n = (in_ + r * hn).tanh()
    return (hx - n) * z + n, torch.cat([r, z, n, hx, hn], 1)


@writes("_thnn_fused_gru_cell_backward")
def gru_cell_backward(grad_hy, workspace, has_bias):
    r, z, n, hx, hn = workspace.chunk(5, 1)
    grad_n = torch.ops.aten.tanh_backward(grad_hy * (1 - z), n)
    grad_z = torch.ops.aten.sigmoid_backward(grad_hy * (hx - n), z)
    grad_r = torch.ops.aten.sigmoid_backward(grad_n * hn, r)
    grad_input = torch.cat([grad_r, grad_z, grad_n], 1)
    grad_hidden = torch.cat([grad_r, grad_z, grad_n * r], 1)
    biases = (grad_input.sum(0), grad_hidden.sum(0)) if has_bias else (None, None)
    return (grad_input, grad_hidden, grad_hy * z, *biases)


for _name in ("_thnn_fused_lstm_cell", "_thnn_fused_lstm_cell_backward_impl", "_thnn_fused_gru_cell",
              "_thnn_fused_gru_cell_backward"):
    writes_out(_name + ".out", of=_name)
