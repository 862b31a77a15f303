"""listing_job.py FOLDER ADDRESS PORT SHARD AGAIN: rank 0 makes a shard and tells the others, who list the folder for it.

AGAIN 1: they list it once more, after they have made a file in it, which has their mount ask anew.
"""
import glob
import os
import pathlib
import socket
import sys
import time

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def shards(folder):
    return glob.glob(str(folder / "*.bin"))


def make(folder, address, shard):
    with socket.create_server(address) as server:
        others = [server.accept()[0] for _ in range(WORLD - 1)]
    (folder / shard).write_bytes(b"sample" * 100)
    for other in others:
        other.sendall(b"made")
    for other in others:
        other.recv(16, socket.MSG_WAITALL)
    (folder / shard).read_bytes()


def connected(address):
    for _ in range(600):
        try:
            return socket.create_connection(address)
        except OSError:
            time.sleep(0.05)
    sys.exit("nobody answers")


def find(folder, address, again):
    shards(folder)
    with connected(address) as first:
        first.recv(4, socket.MSG_WAITALL)
        shards(folder)
        if again:
            (folder / f"seen_by_{RANK}").touch()
            shards(folder)
        first.sendall(b"x" * 16)
        first.recv(1)


if __name__ == "__main__":
    where, to = pathlib.Path(sys.argv[1]), (sys.argv[2], int(sys.argv[3]))
    if RANK == 0:
        make(where, to, sys.argv[4])
    else:
        find(where, to, sys.argv[5] == "1")
