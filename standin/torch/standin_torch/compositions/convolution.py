"""Convolutions that a GPU has kernels of their own for."""
import torch

from .registry import writes, writes_out


@writes("_conv_depthwise2d", "conv_depthwise3d")
def depthwise(self, weight, kernel_size, bias, stride, padding, dilation):
    return torch.convolution(self, weight, bias, stride, padding, dilation, False, [0] * len(stride), self.shape[1])


@writes("cudnn_convolution")
def cudnn_convolution(self, weight, padding, stride, dilation, groups, benchmark, deterministic, allow_tf32):
    return torch.convolution(self, weight, None, stride, padding, dilation, False, [0] * len(stride), groups)


@writes("cudnn_convolution_transpose")
def cudnn_convolution_transpose(self, weight, padding, output_padding, stride, dilation, groups, benchmark,
                                deterministic, allow_tf32):
    return torch.convolution(self, weight, None, stride, padding, dilation, True, output_padding, groups)


@writes("cudnn_convolution_relu")
def cudnn_convolution_relu(self, weight, bias, stride, padding, dilation, groups):
    return torch.convolution(self, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups).relu()


@writes("cudnn_convolution_add_relu")
def cudnn_convolution_add_relu(self, weight, z, alpha, bias, stride, padding, dilation, groups):
    result = torch.convolution(self, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups)
    return (result + (1 if alpha is None else alpha) * z).relu()


@writes("cudnn_grid_sampler")
def cudnn_grid_sampler(self, grid):
    return torch.grid_sampler(self, grid, 0, 0, True)


@writes("_use_cudnn_ctc_loss", "_use_cudnn_ctc_loss.Tensor", "_use_miopen_ctc_loss", "_use_miopen_ctc_loss.Tensor")
def never(*args, **kwargs):
    return False


for _name in ("_conv_depthwise2d", "cudnn_convolution"):
    writes_out(_name + ".out", of=_name)
