"""Operators that exist for CUDA only, written with others; the rest of them raise with their name.

They run for both variants: what they call is overridden."""
from .. import operator_lists
from . import attention, convolution, dropout, matmul, norm, rnn
from .registry import WRITTEN

__all__ = ["install", "WRITTEN", "attention", "convolution", "dropout", "matmul", "norm", "rnn"]


def refused_names(torch, names):
    """CUDA names that neither the override nor a composition takes."""
    return [name for name in names
            if name not in WRITTEN and name not in operator_lists.NOT_OVERRIDDEN
            and not operator_lists.has_cpu_kernel(torch, name)]


def _refusal(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            "aten::%s has no CPU form: ddpscope run --cpu cannot compute it, a GPU is needed" % name)
    return refuse


def install(torch, library, names):
    below_autograd = torch._C._AutoDispatchBelowAutograd

    def guarded(function):
        def kernel(*args, **kwargs):
            with below_autograd():
                return function(*args, **kwargs)
        return kernel

    for name, function in WRITTEN.items():
        if operator_lists.is_known(torch, name):
            library.impl(name, guarded(function), "CUDA")
    for name in refused_names(torch, names):
        library.impl(name, _refusal(name), "CUDA")
