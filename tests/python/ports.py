"""Ports for the stores of jobs that tests start."""
import errno
import random
import socket


def free_port():
    """A TCP port for a job's store, outside the range from which the kernel hands out ports.

    A port that was free when asked for can be any other program's a second later if it lies in that range.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range") as limits:
        first = int(limits.read().split()[0])
    while True:
        port = random.randrange(max(first - 20000, 1024), first)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
                return port
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
