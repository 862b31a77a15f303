"""Runs PyTorch's own sample inputs of its operators on "cuda" and on "cpu"; prints one line of JSON an operator.

    python operator_samples.py SAMPLES [--every N] [--after NAME]

Ends with 3 where CUDA cannot be used any more: what was printed last is what did it."""
import argparse
import json
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

warnings.simplefilter("ignore")
APART = "Tensor-likes are not close"
TYPES = [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64]


# Functions of several operators, or of memory that nobody has written; others have a generator in their schema.
RANDOM = {"bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential", "geometric", "log_normal",
          "multinomial", "new_empty", "new_empty_strided", "normal", "pca_lowrank", "svd_lowrank", "uniform",
          "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
          "nn.functional.feature_alpha_dropout", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
          "nn.functional.multi_head_attention_forward", "nn.functional.rrelu"}


def is_random(name):
    return name in RANDOM or name.startswith("rand")


def has_dropout(sample):
    return sample.kwargs.get("dropout_p", 0) != 0


def to_cuda(value):
    if isinstance(value, torch.Tensor):
        return value.detach().cuda().requires_grad_(value.requires_grad)
    if isinstance(value, torch.device) or isinstance(value, str) and value == "cpu":
        return "cuda"
    return value


def tensors(value):
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def run(op, sample, with_gradients):
    out = op(sample.input, *sample.args, **sample.kwargs)
    if sample.output_process_fn_grad is not None and with_gradients:
        out = sample.output_process_fn_grad(out)
    gradients = []
    leaves = [leaf for leaf in tensors((sample.input, sample.args, sample.kwargs)) if leaf.requires_grad]
    ends = [end for end in tensors(out) if end.requires_grad]
    if with_gradients and leaves and ends:
        total = sum((end.abs() if end.is_complex() else end).float().sum() for end in ends)
        gradients = list(torch.autograd.grad(total, leaves, allow_unused=True))
    return out, gradients


def attempt(function, *arguments):
    try:
        return function(*arguments), None
    except Exception as error:
        return None, error


def difference(name, ours, reference):
    """What is wrong, None if nothing is."""
    ours, reference = tree_flatten(ours)[0], tree_flatten(reference)[0]
    if len(ours) != len(reference):
        return "%d results, %d on the CPU" % (len(ours), len(reference))
    for one, other in zip(ours, reference):
        if isinstance(one, torch.Tensor) != isinstance(other, torch.Tensor):
            return "%s, %s on the CPU" % (type(one), type(other))
        if not isinstance(one, torch.Tensor):
            if one != other and not isinstance(one, (torch.device, torch.dtype)):
                return "%r, %r on the CPU" % (one, other)
            continue
        if one.shape != other.shape or one.dtype != other.dtype:
            return "%s %s, %s %s on the CPU" % (list(one.shape), one.dtype, list(other.shape), other.dtype)
        if is_random(name) or one.layout != torch.strided:
            continue
        one, other = one.detach().cpu(), other.detach().cpu()  # some samples name the device "cuda" themselves
        try:
            torch.testing.assert_close(one, other, equal_nan=True)
        except AssertionError as error:
            return str(error).replace("\n", " ")[:300]
    return None


def to_double(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().double().requires_grad_(value.requires_grad)
    return value


def is_as_exact(op, sample, gradients, ours, reference):
    """Whether sums in another order explain the difference: ours are no further from those of 64 bits than four times the CPU's."""
    exact, failure = attempt(run, op, mapped(to_double, sample), gradients)
    if failure:
        return False
    for one, other, best in zip(*map(tensors, (ours, reference, exact))):
        if best.dtype != torch.float64 or one.shape != best.shape or best.numel() == 0:
            return False
        wrong, usual = ((value.detach().cpu().double() - best.detach()).abs().max() for value in (one, other))
        if not wrong <= 4 * usual:
            return False
    return True


def mapped(function, sample):
    return type(sample)(tree_map(function, sample.input), args=tree_map(function, sample.args),
                        kwargs=tree_map(function, sample.kwargs), output_process_fn_grad=sample.output_process_fn_grad)


def check(op, most):
    """Of each type `most` samples."""
    report = {"samples": 0, "wrong": []}
    for dtype in TYPES:
        if not op.supports_dtype(dtype, "cpu"):
            continue
        gradients = dtype == torch.float32 and op.supports_autograd
        torch.manual_seed(0)
        for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=gradients)):
            if number == most:
                break
            if has_dropout(sample):
                continue
            moved = mapped(to_cuda, sample)
            reference, failure = attempt(run, op, sample, gradients)
            ours, problem = attempt(run, op, moved, gradients)
            _, broken = attempt(torch.cuda.synchronize)
            report["samples"] += 1
            if broken:
                report["wrong"].append("%s, sample %d: %s" % (dtype, number, broken))
                report["broken"] = True
                return report
            if failure and problem:
                continue
            said = ("raised %r" % problem if problem else "did not raise %r" % failure if failure
                    else difference(op.name, ours, reference))
            if said and said.startswith(APART) and is_as_exact(op, sample, gradients, ours, reference):
                continue
            if said:
                report["wrong"].append("%s, sample %d: %s" % (dtype, number, said[:400]))
    return report


def main():
    options = argparse.ArgumentParser()
    options.add_argument("samples", type=int)
    options.add_argument("--every", type=int, default=1)
    options.add_argument("--after")
    options = options.parse_args()
    begun = options.after is None
    for number, op in enumerate(op_db):
        label = "%s|%s" % (op.name, op.variant_test_name)
        if begun and number % options.every == 0:
            report = check(op, options.samples)
            print(json.dumps({"label": label, **report}), flush=True)
            if report.get("broken"):
                sys.exit(3)
        begun = begun or label == options.after


main()
