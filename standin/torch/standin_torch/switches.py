"""Parts of PyTorch that choose NVIDIA's libraries or compile for a GPU, led to what works here."""
from .install import say_once


def set_up(torch):
    _keep_cudnn_off(torch)
    # Its nested tensors have kernels of the wheel's own; without it the layers do the same one by one.
    torch.backends.mha.set_fastpath_enabled(False)
    from . import compilers
    compilers.set_up(torch)


def _keep_cudnn_off(torch):
    """Composite operators ask whether cuDNN is enabled before they choose it."""
    set_enabled = torch._C._set_cudnn_enabled
    set_enabled(False)

    def stay_off(enabled):
        if enabled:
            say_once("cudnn", "cuDNN stays off: its operators are computed without it")

    torch._C._set_cudnn_enabled = stay_off
    cudnn = type(torch.backends.cudnn)
    enabled = cudnn.__dict__["enabled"]
    cudnn.enabled = type(enabled)(enabled.getter, stay_off) if hasattr(enabled, "getter") else \
        property(lambda module: torch._C._get_cudnn_enabled(), lambda module, value: stay_off(value))
