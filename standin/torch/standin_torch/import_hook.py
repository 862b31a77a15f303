"""Calls back when a module has been imported. Imports nothing itself: every Python program pays for it."""
import sys


class _Loader:
    """Another loader, with something to do afterwards."""

    def __init__(self, loader, after):
        self._loader = loader
        self._after = after

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # The module is to look as if it had been loaded without us.
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._after(module)


class _Finder:
    def __init__(self, watched):
        self._watched = watched

    def find_spec(self, name, path=None, target=None):
        after = self._watched.get(name)
        if after is None:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                break
        else:
            return None
        if spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, after)
        return spec


def _torch_imported(module):
    from standin_torch import install
    install.install(module)


def _triton_imported(module):
    from standin_torch import compilers
    compilers.refuse_triton_kernels(module)


def watch():
    sys.meta_path.insert(0, _Finder({"torch": _torch_imported, "triton.runtime.jit": _triton_imported}))
