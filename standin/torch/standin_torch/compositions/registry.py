"""Which operators are written, by name."""

WRITTEN = {}


def writes(*names):
    """The function computes aten::NAME for CUDA tensors."""
    def add(function):
        WRITTEN.update(dict.fromkeys(names, function))
        return function
    return add


def writes_out(name, *, of):
    """aten::NAME is aten::OF with out= arguments."""
    function = WRITTEN[of]

    def kernel(*args, **kwargs):
        outs = [kwargs.pop(key) for key in sorted(kwargs) if key.startswith("out") and key != "out_dtype"]
        results = function(*args, **kwargs)
        results = results if isinstance(results, tuple) else (results,)
        for out, result in zip(outs, results):
            if out.shape != result.shape:
                out.resize_(result.shape)
            out.copy_(result)
        return outs[0] if len(outs) == 1 else tuple(outs)
    WRITTEN[name] = kernel
