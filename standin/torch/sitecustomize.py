"""First in PYTHONPATH under `ddpscope run --cpu`: waits for `import torch`, and runs the environment's own
sitecustomize."""
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _watch_imports():
    try:
        from standin_torch import import_hook
        import_hook.watch()
    except Exception as error:  # a program without PyTorch must not suffer
        sys.stderr.write("standin torch: not in use: %s\n" % error)


def _run_next():
    """The sitecustomize that Python would have found without this folder."""
    import importlib.machinery
    import importlib.util
    rest = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_watch_imports()
_run_next()
