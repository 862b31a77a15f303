"""The C++ variant: native/ compiled against the headers of the PyTorch that runs. Packages carry the library for one PyTorch
(packaging/operators.py); for others it is built once, into a cache."""
import ctypes
import fcntl
import gzip
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
import zlib

from . import operator_lists
from .install import say, say_once

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_FOLDER = os.path.join(_PACKAGE, "native")
_PREBUILT = os.path.join(_PACKAGE, "prebuilt")
_WAITS, _TAKES_HOST_TENSORS, _SIZES_FROM_FLOATS, _REHEARSED = 1, 2, 4, 8  # Flags in override.h
_BUILD_S = 600


class Unavailable(Exception):
    """Why there is no such library."""


class _Operator(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("overload", ctypes.c_char_p), ("kernel", ctypes.c_char_p),
                ("flags", ctypes.c_uint)]


def _flags(name):
    return ((_WAITS if name in operator_lists.WAITS else 0)
            | (_TAKES_HOST_TENSORS if name in operator_lists.TAKES_HOST_TENSORS else 0)
            | (_SIZES_FROM_FLOATS if name in operator_lists.SIZES_FROM_FLOATS else 0)
            | (_REHEARSED if name in operator_lists.REHEARSED else 0))


def _sources():
    return sorted(os.path.join(_FOLDER, name) for name in os.listdir(_FOLDER) if name.endswith((".cpp", ".h")))


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("STANDIN_TORCH_CACHE") or os.path.join(base, "ddpscope", "standin_torch")


def library_name(torch):
    """The file for this PyTorch and these sources: no other file is ever loaded."""
    content = hashlib.sha256()
    for source in _sources():
        with open(source, "rb") as file:
            content.update(file.read())
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    version = "%s-%s-abi%d" % (torch.__version__, torch.version.git_version[:10], abi)
    return "%s-%s.so" % (version, content.hexdigest()[:16])


def _cuda_headers(torch):
    """Folders of CUDA's headers: those of NVIDIA's wheels first. The wheels lack crt/, which Triton's wheel and toolkits have."""
    packages = os.path.dirname(os.path.dirname(torch.__file__))
    major = torch.version.cuda.partition(".")[0]
    candidates = [os.path.join(packages, "nvidia", "cu" + major, "include"),
                  os.path.join(packages, "nvidia", "cuda_runtime", "include"),
                  os.path.join(packages, "triton", "backends", "nvidia", "include")]
    candidates += [os.path.join(root, "include") for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if root]
    found = [folder for folder in candidates if os.path.exists(os.path.join(folder, "cuda_runtime_api.h"))]
    if not found:
        raise Unavailable("CUDA's headers were not found beside PyTorch")
    return found


def command(torch, compiler, target, flags=()):
    """What compiles source_text(), its standard input, into the library `target`. `flags`: before all others."""
    root = os.path.dirname(torch.__file__)
    libraries = os.path.join(root, "lib")
    first, *later = _cuda_headers(torch)
    return [compiler, *flags, "-shared", "-fPIC", "-std=c++20", "-O1", "-w",
            "-D_GLIBCXX_USE_CXX11_ABI=%d" % torch._C._GLIBCXX_USE_CXX11_ABI,
            "-I", _FOLDER, "-I", os.path.join(root, "include"), "-I", first,
            *(word for folder in later for word in ("-idirafter", folder)),
            "-x", "c++", "-", "-o", target,
            "-L", libraries, "-lc10", "-lc10_cuda", "-ltorch_cpu", "-ltorch_cuda"]


def source_text():
    """One translation unit: PyTorch's headers are nearly all of the work."""
    return "".join('#include "%s"\n' % name for name in _sources() if name.endswith(".cpp"))


def _build(torch, path):
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if not compiler:
        raise Unavailable("there is no C++ compiler (g++)")
    unfinished = "%s.%d" % (path, os.getpid())
    words = command(torch, compiler, unfinished)
    # A compiler is no part of the job.
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONPATH")}
    say("building the operators for PyTorch %s, once: about a minute" % torch.__version__)
    begin = time.monotonic()
    try:
        done = subprocess.run(words, input=source_text(), env=environment, capture_output=True, text=True, timeout=_BUILD_S)
        if done.returncode != 0:
            _keep_log(path, words, done.stderr)
            first = next((line for line in done.stderr.splitlines() if "error" in line), "exit %d" % done.returncode)
            raise Unavailable("the build failed: %s (all of it: %s.log)" % (first, path))
        os.rename(unfinished, path)
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable("the build failed: %s" % error)
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
    say("built in %.0f s: %s" % (time.monotonic() - begin, path))


def _keep_log(path, words, text):
    with open(path + ".log", "w") as file:
        file.write(" ".join(words) + "\n" + text)


def _find_or_build(torch, path):
    if os.path.exists(path):
        return path
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        lock = open(path + ".lock", "w")
    except OSError as error:
        raise Unavailable("the cache cannot be written: %s" % error)
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several ranks one builds
        if os.path.exists(path):
            return path
        if os.path.exists(path + ".log"):
            raise Unavailable("the build failed before: see %s.log, and delete it to try again" % path)
        _build(torch, path)
    return path


def _load_prebuilt(name):
    """The library that the package carries, or None: it carries none for this PyTorch and these sources, or a broken one."""
    packed = os.path.join(_PREBUILT, name + ".gz")
    if not os.path.exists(packed):
        return None
    try:
        with gzip.open(packed) as file:
            content = file.read()
        return _load_unpacked(content, os.path.join(cache_folder(), "prebuilt-" + name))
    except (OSError, EOFError, zlib.error) as error:
        say_once("prebuilt", "the operators that ddpscope brings for PyTorch cannot be loaded: %s" % error)
    return None


def _load_unpacked(content, path):
    """From the cache; where it cannot be written, or nothing there may be executed, from a file that is gone once it is loaded."""
    try:
        _write_once(content, path)
        return ctypes.CDLL(path)
    except OSError:
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(content)
            file.flush()
            return ctypes.CDLL(file.name)


def _write_once(content, path):
    """Whole or not at all: ranks that start together write the same."""
    if os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    unfinished = "%s.%d" % (path, os.getpid())
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
        os.rename(unfinished, path)
    except OSError:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise


def _load(torch):
    name = library_name(torch)
    library = _load_prebuilt(name)
    if library:
        return library
    path = _find_or_build(torch, os.path.join(cache_folder(), name))
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise Unavailable("%s cannot be loaded: %s" % (path, error))


def install(torch, names):
    """Registers the overrides; they last as long as the process. Fails with Unavailable."""
    library = _load(torch)
    register = library.standin_torch_install
    register.restype = ctypes.c_char_p
    operators = (_Operator * len(names))()
    for operator, name in zip(operators, names):
        base, _, overload = name.partition(".")
        operator.name = ("aten::" + base).encode()
        operator.overload = overload.encode()
        operator.kernel = operator_lists.kernel_name(name).encode()
        operator.flags = _flags(name)
    problem = register(operators, ctypes.c_size_t(len(names)))
    if problem:
        raise Unavailable(problem.decode())
