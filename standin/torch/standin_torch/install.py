"""What happens behind `import torch`."""
import atexit
import os
import sys

from . import runtime

VARIANT = "STANDIN_TORCH"  # compiled, python, off; else compiled where that can be built


def say(text):
    sys.stderr.write("standin torch: %s\n" % text)
    sys.stderr.flush()


_libraries = []  # registrations end with their library


def install(torch):
    if not runtime.is_loaded() or os.environ.get(VARIANT) == "off":
        return
    if torch.version.cuda is None:
        say("this PyTorch has no CUDA: use ddpscope without --cpu")
        return
    from . import compositions, operator_lists, switches
    names = operator_lists.cuda_names(torch)
    library = torch.library.Library("aten", "IMPL")
    _libraries.append(library)
    _install_overrides(torch, library, operator_lists.overridden_names(torch, names))
    compositions.install(torch, library, names)
    switches.set_up(torch)
    runtime.require_bodies()
    atexit.register(runtime.stop)


def _install_overrides(torch, library, names):
    variant = os.environ.get(VARIANT, "")
    if variant not in ("", "compiled", "python"):
        say("%s=%s is neither compiled, python nor off" % (VARIANT, variant))
    if variant != "python":
        from . import compiled
        try:
            return compiled.install(torch, names)
        except compiled.Unavailable as problem:
            say("operators run in Python, some times slower: %s" % problem)
    from . import queued
    queued.install(library, names)
