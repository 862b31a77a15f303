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
    ours, path = sys.modules.pop(__name__), sys.path
    sys.path = [entry for entry in path if os.path.abspath(entry or os.curdir) != _FOLDER]
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != __name__:
            raise
    finally:
        # What it added to the path stays.
        here = [entry for entry in path if os.path.abspath(entry or os.curdir) == _FOLDER]
        sys.path = here + sys.path
        sys.modules.setdefault(__name__, ours)


_watch_imports()
_run_next()
