"""torch.compile, Triton kernels and CUDA extensions: what needs a GPU's compiler says so, or is led round it."""
import functools

_FALLBACK = "aot_eager"


def set_up(torch):
    wrapper = getattr(torch, "_TorchCompileInductorWrapper", None)
    if wrapper is None:
        return
    compile_by_inductor = wrapper.__call__

    @functools.wraps(compile_by_inductor)
    def compile_for_cpu(self, model_, inputs_):
        if not _uses_cuda(torch, model_, inputs_):
            return compile_by_inductor(self, model_, inputs_)
        from torch._dynamo.backends.registry import lookup_backend

        from .install import say_once
        say_once("inductor", 'torch.compile: Inductor makes code for a GPU, so backend "%s" takes its place' % _FALLBACK)
        return lookup_backend(_FALLBACK)(model_, inputs_)

    wrapper.__call__ = compile_for_cpu


def _uses_cuda(torch, model, inputs):
    tensors = [*inputs, *model.parameters(), *model.buffers()]
    tensors += [node.meta["example_value"] for node in model.graph.nodes
                if isinstance(node.meta.get("example_value"), torch.Tensor)]
    return any(isinstance(tensor, torch.Tensor) and tensor.is_cuda for tensor in tensors)


def refuse_triton_kernels(jit):
    """`jit` is triton.runtime.jit."""
    def run(self, *args, **kwargs):
        function = getattr(self, "fn", None)
        code = getattr(function, "__code__", None)
        place = "%s:%d" % (code.co_filename, code.co_firstlineno) if code else "a place that is not known"
        raise RuntimeError("the Triton kernel %s (%s) needs a GPU: ddpscope run --cpu cannot run it"
                           % (getattr(function, "__name__", self), place))

    jit.JITFunction.run = run
