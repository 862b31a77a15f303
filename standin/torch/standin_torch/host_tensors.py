"""CPU tensors over CUDA memory, tensors that stand for others, and operators called with CPU tensors."""
import torch

_CPU = torch.device("cpu")
_HOST_TYPES = (torch.float64, torch.int64, torch.bool, torch.complex128)  # of Python's numbers
_storage_at = torch._C._construct_storage_from_data_pointer


def _seen_alike(result, tensor):
    """`result`, conjugate or negative where `tensor` is."""
    if tensor.is_conj():
        torch._C._set_conj(result, True)
    if tensor.is_neg():
        torch._C._set_neg(result, True)
    return result


def alias(tensor):
    """A CPU tensor over the memory of a CUDA tensor."""
    size, stride = tensor.shape, tensor.stride()
    extent = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride))
    storage = _storage_at(tensor.data_ptr(), _CPU, extent * tensor.element_size())
    return _seen_alike(torch.empty(0, dtype=tensor.dtype).set_(storage, 0, size, stride), tensor)


def host_copy(tensor):
    # Numbers of Python come as tensors that only C++ can distinguish from others, and are never changed.
    return tensor if tensor.dim() == 0 and tensor.dtype in _HOST_TYPES else tensor.detach().clone()


def meta_like(tensor):
    if not tensor.is_cuda:
        return tensor if tensor.dim() == 0 else tensor.to("meta")
    return _seen_alike(torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta"), tensor)


def zeros_like(tensor):
    if not tensor.is_cuda and tensor.dim() == 0:
        return tensor
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).zero_()


def map_tensors(value, function):
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return [map_tensors(item, function) for item in value]
    return value


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def number_tensor(number, values):
    """Of a type that leaves the result's type as the number would."""
    beside = next(tensors_in(tuple(values.values())), None)
    if beside is None:
        return torch.tensor(number)
    if isinstance(number, float) and beside.is_floating_point() and beside.dim() > 0:
        return torch.tensor(number, dtype=torch.float64)
    return torch.tensor(number, dtype=torch.result_type(beside, number))


def layout_of(tensor):
    return tensor.shape, tensor.stride(), tensor.dtype


_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
_WIDER.update({getattr(torch, name): torch.float32 for name in dir(torch) if name.startswith("float8_")})
_LACKS_TYPE = ("\" not implemented for '", "doesn't support tensors of type")  # the latter: FFT
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def _drop_conversion(arguments):
    """CUDA's softmax converts half to float on its way, and back. Whether it was to do so."""
    if arguments.get("half_to_float"):
        arguments["half_to_float"] = False
        return True
    if arguments.get("input_dtype") == torch.float16:
        arguments["input_dtype"] = torch.float32
        return True
    return False


def call_on_host(op, arguments, written, keep_wide=False):
    """The operator with CPU tensors; where its kernel lacks a type that CUDA's has, with a wider one. Then results are
    narrowed again, unless what they are copied to does that: keep_wide."""
    wide = dict(arguments)
    try:
        return op(**arguments)
    except (RuntimeError, NotImplementedError) as error:
        wider = _widening(arguments)
        lacks = wider and any(text in str(error) for text in _LACKS_TYPE)
        if not _drop_conversion(wide) and not lacks:
            raise
    wide = {name: map_tensors(value, lambda t: t.to(wider.get(t.dtype, t.dtype))) for name, value in wide.items()}
    results = op(**wide)
    for name in written:
        for source, target in zip(tensors_in(wide.get(name)), tensors_in(arguments.get(name))):
            if source is not target:
                target.resize_(source.shape).copy_(source)
    if keep_wide:
        return results
    first = next(tensors_in(tuple(arguments.values()))).dtype
    return map_tensors(results, lambda t: t.to(first) if t.dtype == wider.get(first) else t)


def _widening(arguments):
    """Type to wider type. Indices are integers too: those are widened only where nothing else is."""
    types = [tensor.dtype for tensor in tensors_in(tuple(arguments.values()))]
    if any(dtype in _WIDER for dtype in types):
        return _WIDER
    return dict.fromkeys(_INTEGERS, torch.float64) if types and types[0] in _INTEGERS else {}
