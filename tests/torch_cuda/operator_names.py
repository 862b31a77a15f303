"""What has become of each operator that PyTorch registers for CUDA; prints one JSON document. Run by test_operators.py."""
import json
import re

import torch
from standin_torch.compositions import WRITTEN


def value_for(argument):
    """Something of the argument's type, for a call that has to be refused whatever it is given."""
    kind = str(argument.type)
    if kind.startswith("Optional"):
        return None
    if kind == "Tensor":
        return torch.ones(2, 2, device="cuda")
    if kind.startswith("List"):
        inner = kind[len("List["):-1]
        return [torch.ones(2, 2, device="cuda")] * 2 if inner == "Tensor" else [{"bool": True, "float": 1.0}.get(inner, 1)] * 4
    return {"int": 1, "SymInt": 1, "float": 0.5, "bool": True, "number": 1, "Device": torch.device("cuda"), "str": ""}.get(kind)


def call(name):
    base, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, base), overload or "default")
    return op(**{argument.name: value_for(argument) for argument in op._schema.arguments})


def kernel_in_use(name):
    """Where the dispatcher has its kernel for CUDA from."""
    found = re.search(r"^CUDA: (.*)$", torch._C._dispatch_dump("aten::" + name), re.MULTILINE)
    return found.group(1) if found else ""


def returns_a_view(name):
    base, _, overload = name.partition(".")
    schema = getattr(getattr(torch.ops.aten, base), overload or "default")._schema
    return any(result.alias_info is not None and not result.alias_info.is_write for result in schema.returns)


def main():
    names = [name[len("aten::"):] for name in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")
             if name.startswith("aten::")]
    ours = [name for name in names if "standin" in kernel_in_use(name)]
    refused = {}
    for name in set(ours) - set(WRITTEN):
        if any(torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, key)
               for key in ("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional",
                           "CompositeImplicitAutograd")):
            continue
        try:
            refused[name] = "returned a %s" % type(call(name))
        except Exception as error:
            refused[name] = "%s: %s" % (type(error).__name__, error)
    torch.cuda.synchronize()
    print(json.dumps({"names": len(names), "ours": ours, "left": [name for name in names if name not in ours],
                      "views": [name for name in ours if returns_a_view(name)], "refused": refused, "written": [name for name in ours if name in WRITTEN]}))


main()
