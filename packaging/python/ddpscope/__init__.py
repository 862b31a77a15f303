"""Where the wheel of ddpscope has put its programs and libraries. The programs need no Python."""
import importlib.metadata

__version__ = importlib.metadata.version("ddpscope")


def injector_path():
    """Of the library that `ddpscope run` preloads, for those who set LD_PRELOAD themselves."""
    return _installed("ddpscope", "libddpscope.so")


def _installed(*end):
    for file in importlib.metadata.files("ddpscope") or ():
        if file.parts[-len(end):] == end:
            return str(file.locate().resolve())
    raise FileNotFoundError(f"{end[-1]} is not among the files of ddpscope's wheel: install it again, without --target")
