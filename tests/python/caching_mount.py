"""Mounts of a folder that show late what is done past them, and read and write slowly (tests/tools/caching_mount.cpp).

Not a network file system, but what makes one late: a client's memory of names and sizes. Where there is no FUSE the test
is skipped with the reason.
"""
import contextlib
import os
import pathlib
import subprocess
import time

import ddpscope
import pytest

PROGRAM = ddpscope.BUILD / "bin" / "caching_mount"
FOR_EVER = 10_000  # seconds, longer than any test


def skip_where_impossible():
    if not PROGRAM.exists():
        pytest.skip("libfuse3 is not installed: no file system of our own can be mounted")
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("no /dev/fuse here, or not root: no file system of our own can be mounted")


def command(backing, point, keep_s=0, bytes_per_second=0, source="store:/files", keeps_listings=False):
    return [PROGRAM, backing, point, source, keep_s, bytes_per_second, int(keeps_listings)]


def is_mounted(point, process="self"):
    """Whether such a mount is at `point`, in the mount namespace of this process: others' mounts are there, too."""
    mounts = pathlib.Path(f"/proc/{process}/mountinfo").read_text().splitlines()
    return any(f" {point} " in mount and " fuse.caching " in mount for mount in mounts)


def wait_until(mounted, still_runs, seconds=20):
    deadline = time.monotonic() + seconds
    while not mounted():
        if not still_runs() or time.monotonic() > deadline:
            pytest.skip("a FUSE file system cannot be mounted here")
        time.sleep(0.02)


@contextlib.contextmanager
def mounted(backing, point, **how):
    """`point`, which is made: what is below `backing`, through a mount that lasts as long as the with statement."""
    skip_where_impossible()
    point.mkdir()
    server = subprocess.Popen([str(word) for word in command(backing, point, **how)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_mounted(point), lambda: server.poll() is None)
        yield point
    finally:
        subprocess.run(["umount", "--lazy", point], check=False, stderr=subprocess.DEVNULL)
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
