"""Where a machine's CUDA, NCCL and CUPTI come from, and what of the pack's own libraries it lacks.

In this order: the wheels that its PyTorch uses, a toolkit (CUDA_HOME, CUDA_PATH, /usr/local/cuda), the system's loader, the
pack. The first that has a library gives it.
"""
import os
import pathlib
import re
import subprocess
import sys

WANTED = ("libcudart.so.13", "libnccl.so.2", "libcupti.so.13")


def wheel_folders():
    for entry in sys.path:
        base = pathlib.Path(entry or ".") / "nvidia"
        if base.is_dir():
            yield from (base / name / "lib" for name in ("cu13", "nccl", "cuda_runtime", "cuda_cupti"))


def toolkit_folders():
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda"):
        if root:
            yield from (pathlib.Path(root) / name for name in ("lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64"))


def loader_paths():
    for program in ("ldconfig", "/sbin/ldconfig"):
        try:
            listing = subprocess.run([program, "-p"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            return dict(reversed(re.findall(r"^\s+(\S+) \(.*x86-64.*\) => (\S+)$", listing, re.MULTILINE)))
        except FileNotFoundError:
            continue
    return {}


def find(pack):
    """{soname: (path, where it is from)} of what was found."""
    known = loader_paths()
    sources = [("PyTorch's wheels", list(wheel_folders())), ("toolkit", list(toolkit_folders()))]
    found = {}
    for name in WANTED:
        candidates = [(folder / name, source) for source, folders in sources for folder in folders]
        if name in known:
            candidates.append((pathlib.Path(known[name]), "system"))
        candidates.append((pack / "lib" / "cuda" / name, "the pack"))
        for path, source in candidates:
            if path.exists():
                found[name] = (path.resolve(), source)
                break
    return found


def lacking(files, carried):
    """{soname: path} of the carried libraries that the loader does not find for these files, and what those need in turn."""
    found, names = {}, set()
    while files:
        for file in files:
            listing = subprocess.run(["ldd", str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            names |= set(re.findall(r"^\s+(\S+) => not found", listing, re.MULTILINE))
        files = [carried[name] for name in names if name in carried and name not in found]
        found.update((name, carried[name]) for name in names if name in carried)
    return found


def link_all(folder, files):
    """A folder with these libraries under their sonames; the path for LD_LIBRARY_PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in files.items():
        (folder / name).symlink_to(path)
    return folder
