"""What happens behind `import torch`."""
import atexit
import os
import sys
import warnings

from . import runtime

VARIANT = "STANDIN_TORCH"  # compiled, python, off; else compiled where that can be built
_SAID = "STANDIN_TORCH_SAID"  # handed down: of a job's processes one says it


def say(text):
    sys.stderr.write("standin torch: %s\n" % text)
    sys.stderr.flush()


def say_once(key, text):
    """Not again in this process, nor in those that it starts."""
    said = os.environ.get(_SAID, "").split()
    if key not in said:
        os.environ[_SAID] = " ".join(said + [key])
        say(text)


_libraries = []  # registrations end with their library


def install(torch):
    if not runtime.is_loaded() or os.environ.get(VARIANT) == "off":
        return
    if torch.version.cuda is None:
        say_once("cuda", "this PyTorch has no CUDA: use ddpscope without --cpu")
        return
    runtime.require_bodies()
    try:
        _replace_operators(torch)
    except Exception as error:  # of a PyTorch that is too old, or too new
        say_once("failed", "CUDA operators of PyTorch %s cannot be computed here: %s: %s"
                 % (torch.__version__, type(error).__name__, error))
    atexit.register(runtime.stop)


def _replace_operators(torch):
    from . import compositions, operator_lists, switches
    names = operator_lists.cuda_names(torch)
    library = torch.library.Library("aten", "IMPL")
    _libraries.append(library)
    overridden = [name for name in operator_lists.overridden_names(torch, names) if name not in compositions.WRITTEN]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of each registration that takes another's place
        _install_overrides(torch, library, overridden)
        compositions.install(torch, library, names)
    switches.set_up(torch)


def _install_overrides(torch, library, names):
    variant = os.environ.get(VARIANT, "")
    if variant not in ("", "compiled", "python"):
        say_once("variant", "%s=%s is neither compiled, python nor off" % (VARIANT, variant))
    if variant != "python":
        from . import compiled
        try:
            return compiled.install(torch, names)
        except compiled.Unavailable as problem:
            say_once("python", "operators run in Python, several times slower: %s" % problem)
    from . import queued
    queued.install(library, names)
