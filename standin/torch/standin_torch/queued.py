"""The Python variant: one generic kernel for the CUDA key, which computes an operator on CPU tensors over the
same memory, in stream order.

The results' sizes are needed before anything has been computed: the operator is asked with meta tensors, or with
zeros, and the answer is kept. Work that cannot say its sizes is queued and waited for."""
import functools
import itertools
import sys
import threading
import traceback

import torch

from . import operator_lists, runtime
from .host_tensors import (alias, call_on_host, host_copy, layout_of, map_tensors, meta_like, number_tensor, tensors_in,
                           zeros_like)

_AutoDispatch = torch._C._AutoDispatchBelowAutograd
_Exclude = torch._C._ExcludeDispatchKeyGuard
_stream_of = torch._C._cuda_getCurrentRawStream
_current_device = torch._C._cuda_getDevice
_exchange_device = torch._C._cuda_exchangeDevice

_CPU = torch.device("cpu")
_KEPT_SHAPES = 4096
_PHILOX_STEP = 4  # what a CUDA generator's offset is counted in


class Failed:
    def __init__(self, error):
        self.error = error


# ---- work in streams

_work = {}
_numbers = itertools.count(1)


@runtime.HOST_FUNCTION
def _run(number):
    function, name = _work[number]
    try:
        with _AutoDispatch():
            function()
    except BaseException as error:
        detail = "".join(traceback.format_exception_only(type(error), error)).strip()
        runtime.fail("aten::%s failed in its stream: %s" % (name, detail))


@runtime.HOST_FUNCTION
def _release(number):
    _work.pop(number, None)


def _check(error):
    if error:
        kind = getattr(torch, "AcceleratorError", RuntimeError)
        raise kind("CUDA error: %d (cudaError_t) from an operator of the CPU stand-in" % error)


def _call_on(device, function, *arguments):
    """Calls an entry point of the runtime, whose last argument is the device's current stream."""
    before = _current_device()
    if before != device:
        _exchange_device(device)
    try:
        _check(function(*arguments, _stream_of(device)))
    finally:
        if before != device:
            _exchange_device(before)


def enqueue(name, kernel, device, function):
    """Has the current stream of `device` call `function`, as a launch of `kernel`."""
    number = next(_numbers)
    _work[number] = (function, name)
    _call_on(device, runtime.launch, kernel, _run, number, _release)


def wait(device):
    _call_on(device, runtime.wait)


# ---- results

def _allocate(layout, device):
    size, stride, dtype = layout
    return torch.empty_strided(size, stride, dtype=dtype, device=torch.device("cuda", device))


def _copy_into(target, source):
    if target.shape != source.shape:
        raise RuntimeError("result is of size %s, and %s was expected" % (list(source.shape), list(target.shape)))
    target.copy_(source)


# ---- random numbers

def draw_generator(generator, device):
    """A CPU generator for one operator, made of where the CUDA generator stands, which moves on."""
    if generator is None:
        generator = torch.cuda.default_generators[device]
    if generator.device.type == "cpu":
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    offset = generator.get_offset()
    generator.set_offset(offset + _PHILOX_STEP)
    seed = (generator.initial_seed() * 0x9E3779B97F4A7C15 + offset * 0xD1B54A32D192ED03) & (2**64 - 1)
    seed = ((seed ^ seed >> 31) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    return torch.Generator().manual_seed((seed ^ seed >> 29) & (2**63 - 1))


# ---- operators

class Operator:
    """The override of one operator. Made with its first call: most programs use few of them."""

    def __init__(self, name):
        base, _, overload = name.partition(".")
        self.name = name
        self.op = getattr(getattr(torch.ops.aten, base), overload or "default")
        schema = self.op._schema
        self.arguments = [argument.name for argument in schema.arguments]
        # Python's numbers come as themselves where a tensor is wanted; only some operators take them back so.
        takes_numbers = torch._C._should_allow_numbers_as_tensors("aten::" + base)
        self.wants_tensors = () if takes_numbers else tuple(
            argument.name for argument in schema.arguments if str(argument.type) == "Tensor")
        self.is_random = "generator" in self.arguments
        self.takes_device = "device" in self.arguments
        self.takes_host_tensors = name in operator_lists.TAKES_HOST_TENSORS
        self.floats_matter = name in operator_lists.SIZES_FROM_FLOATS
        self.written = frozenset(argument.name for argument in schema.arguments
                                 if argument.alias_info is not None and argument.alias_info.is_write)
        self.outs = frozenset(argument.name for argument in schema.arguments
                              if argument.name in self.written and argument.kwarg_only)
        self.returned = [self._returned_argument(result, schema) for result in schema.returns]
        self.only_in_place = all(self.returned) and not self.outs
        self.waits = name in operator_lists.WAITS or not all(
            str(result.type) in ("Tensor", "List[Tensor]") for result in schema.returns)
        has_meta = torch._C._dispatch_has_computed_kernel_for_dispatch_key(self.op.name(), "Meta")
        self.asks_meta = has_meta and name not in operator_lists.REHEARSED
        self.kernel = runtime.kernel(operator_lists.kernel_name(name).encode())
        self.shapes = {}

    @staticmethod
    def _returned_argument(result, schema):
        if result.alias_info is None:
            return None
        for argument in schema.arguments:
            if argument.alias_info is not None and argument.alias_info.before_set == result.alias_info.before_set:
                return argument.name
        return None

    def __call__(self, *args, **kwargs):
        with _AutoDispatch():
            return self.call({**dict(zip(self.arguments, args)), **kwargs})

    def call(self, values):
        for name in self.wants_tensors:
            if isinstance(values[name], (bool, int, float, complex)):
                values[name] = number_tensor(values[name], values)
        device = self.device_of(values)
        if self.is_random:
            values["generator"] = draw_generator(values.get("generator"), device)
        if self.takes_device:
            values["device"] = _CPU
            values["pin_memory"] = False
        results = None if self.waits else self.shapes_of(values)
        return self.call_and_wait(values, device) if results is None else self.queue(values, device, results)

    def device_of(self, values):
        device = None
        host = False
        for tensor in tensors_in(tuple(values.values())):
            if tensor.is_cuda:
                if device is None:
                    device = tensor.get_device()
                elif device != tensor.get_device():
                    self.refuse_devices("cuda:%d" % device, "cuda:%d" % tensor.get_device())
            elif tensor.dim() > 0 and tensor.device.type == "cpu":
                host = True
        if device is None:
            named = values.get("device")
            device = torch.device(named).index if named is not None else None
            return _current_device() if device is None else device
        if host and not self.takes_host_tensors:
            self.refuse_devices("cuda:%d" % device, "cpu")
        return device

    def refuse_devices(self, one, other):
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, %s and "
                           "%s! (when checking the arguments of aten::%s)" % (one, other, self.name))

    def key(self, value):
        if isinstance(value, torch.Tensor):
            return value.shape, value.stride(), value.dtype, value.is_cuda, value.is_conj(), value.is_neg()
        if isinstance(value, (list, tuple)):
            return tuple(self.key(item) for item in value)
        if isinstance(value, torch.Generator):
            return None
        if isinstance(value, (float, complex)) and not self.floats_matter:
            return type(value)
        return type(value), value

    def shapes_of(self, values):
        """What the results look like, one a return; None: not to be known without computing."""
        if self.only_in_place and not self.asks_meta:
            return ()
        key = tuple((name, self.key(value)) for name, value in values.items())
        if key in self.shapes:
            known = self.shapes[key]
        else:
            if len(self.shapes) >= _KEPT_SHAPES:
                self.shapes.clear()
            known = self.shapes[key] = self.ask(values)
        if known is None:
            return None
        results, outs = known
        for name, size in outs:
            target = values[name]
            if target.shape != size:
                target.resize_(size)
        return results

    def ask(self, values):
        """The operator itself, with tensors that hold nothing of worth."""
        asked = {name: map_tensors(value, meta_like if self.asks_meta else zeros_like) for name, value in values.items()}
        if self.takes_device:
            asked["device"] = torch.device("meta" if self.asks_meta else "cpu")
        if self.is_random:
            asked["generator"] = None if self.asks_meta else torch.Generator()
        try:
            answer = self.op(**asked) if self.asks_meta else call_on_host(self.op, asked, self.written)
        except Exception:  # not provided, or what the CPU's kernel will say better
            return None
        answers = answer if isinstance(answer, (list, tuple)) and len(self.returned) > 1 else [answer]
        if any(tensor.layout != torch.strided or tensor.is_quantized for tensor in tensors_in(tuple(answers))):
            return None
        results = [None if argument else map_tensors(result, layout_of) for argument, result in zip(self.returned, answers)]
        if any(isinstance(out, list) for out in map(asked.get, self.outs)):
            return (results, ()) if all(self._same_sizes(asked, values)) else None
        return results, [(name, asked[name].shape) for name in self.outs]

    def _same_sizes(self, asked, values):
        for name in self.outs:
            yield [m.shape for m in tensors_in(asked[name])] == [v.shape for v in tensors_in(values[name])]

    def queue(self, values, device, layouts):
        arguments = {name: map_tensors(value, lambda t: alias(t) if t.is_cuda else host_copy(t))
                     for name, value in values.items()}
        call = functools.partial(call_on_host, self.op, arguments, self.written, keep_wide=True)
        if self.only_in_place:
            enqueue(self.name, self.kernel, device, call)
            return self.answer(values, ())
        results = [self._allocate_results(layout, device) for layout in layouts]
        targets = [map_tensors(result, alias) for result in results]
        several = len(self.returned) > 1

        def work():
            computed = call()
            for target, source in zip(targets, computed if several else [computed]):
                for one, other in zip(tensors_in(target), tensors_in(source)):
                    _copy_into(one, other)

        enqueue(self.name, self.kernel, device, work)
        return self.answer(values, results)

    def _allocate_results(self, layout, device):
        if layout is None or isinstance(layout, torch.Tensor):
            return None
        if isinstance(layout, list):
            return [_allocate(item, device) for item in layout]
        return _allocate(layout, device)

    def call_and_wait(self, values, device):
        """Outs are given as empty tensors, whose size the operator sets."""
        arguments, outs = {}, {}
        for name, value in values.items():
            if name in self.outs:
                arguments[name] = outs[name] = map_tensors(value, lambda t: torch.empty(0, dtype=t.dtype))
            else:
                arguments[name] = map_tensors(value, lambda t: alias(t) if t.is_cuda else t)
        finished = []

        def work():
            try:
                finished.append(call_on_host(self.op, arguments, self.written))
            except BaseException as error:
                finished.append(Failed(error))

        enqueue(self.name, self.kernel, device, work)
        wait(device)
        if isinstance(finished[0], Failed):
            raise finished[0].error
        for name, out in outs.items():
            for source, target in zip(tensors_in(out), tensors_in(values[name])):
                if target.shape != source.shape:
                    target.resize_(source.shape)
                alias(target).copy_(source)
        answers = finished[0] if len(self.returned) > 1 else [finished[0]]
        return self.answer(values, [map_tensors(value, lambda t: self._on_device(t, device)) for value in answers])

    @staticmethod
    def _on_device(tensor, device):
        if tensor.layout != torch.strided:
            return tensor.to(torch.device("cuda", device))
        result = _allocate(layout_of(tensor), device)
        alias(result).copy_(tensor)
        return result

    def answer(self, values, results):
        if not self.returned:
            return None
        given = itertools.chain(results, itertools.repeat(None))
        answers = [values[argument] if argument else result for argument, result in zip(self.returned, given)]
        return answers[0] if len(answers) == 1 else tuple(answers)


@functools.lru_cache(maxsize=None)
def operator(name):
    return Operator(name)


def _first_call(name):
    return lambda *args, **kwargs: operator(name)(*args, **kwargs)


# ---- copy_

def _is_plain_copy(target, source):
    return (target.dtype == source.dtype and target.shape == source.shape
            and target.is_conj() == source.is_conj() and target.is_neg() == source.is_neg()
            and (target.is_contiguous() and source.is_contiguous()
                 or target.stride() == source.stride() and torch.ops.aten.is_non_overlapping_and_dense.default(target)))


def _native_copy(target, source, non_blocking):
    return torch.ops.aten.copy_.default._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, target, source,
                                               non_blocking)


def copy_(target, source, non_blocking=False):
    """Copies that a GPU makes by its copy engine stay CUDA's; those that need a kernel are one here."""
    with _AutoDispatch():
        if not (target.is_cuda and source.is_cuda) or _is_plain_copy(target, source):
            return _native_copy(target, source, non_blocking)
        device = target.get_device()
        source = source.expand(target.shape)
        if source.get_device() != device:
            near = torch.empty(target.shape, dtype=source.dtype, device=target.device)
            _native_copy(near, source.resolve_conj().resolve_neg().contiguous(), non_blocking)
            source = near
        to, of = alias(target), alias(source)
        enqueue("copy_", _copy_kernel(), device, lambda: to.copy_(of))
        return target


@functools.lru_cache(maxsize=None)
def _copy_kernel():
    return runtime.kernel(b"aten::copy_")


def install(library, names):
    """Registers the overrides; `library` is kept by the caller."""
    sys.setswitchinterval(min(sys.getswitchinterval(), 0.0005))  # streams and program pass the GIL on
    for name in names:
        library.impl(name, _first_call(name), "CUDA")
    library.impl("copy_", copy_, "CUDA")
