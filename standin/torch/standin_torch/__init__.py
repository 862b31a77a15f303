"""Operators of PyTorch's CUDA wheel, computed on the CPU in stream order. See README.md."""
