"""Where the wheel of ddpscope has put its programs and libraries. The programs need no Python."""
import importlib.metadata

__version__ = importlib.metadata.version("ddpscope")


def injector_path():
    """Of the library that `ddpscope run` preloads, for those who set LD_PRELOAD themselves."""
    return _installed("libddpscope.so")


def _installed(name):
    for file in importlib.metadata.files("ddpscope") or ():
        if file.name == name:
            return str(file.locate().resolve())
    raise FileNotFoundError(f"{name} is not among the files of ddpscope's wheel: install it again")
