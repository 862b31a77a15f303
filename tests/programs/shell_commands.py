"""Two ranks that meet over TCP. shell_commands.py HOW [--forget]: rank 0 hands a file on by a command of its
shell (system, run) or beside one that has nothing to do with it (beside); --forget: they do not meet after it."""
import os
import socket
import subprocess
import sys
import time

HOW, FORGET = sys.argv[1], "--forget" in sys.argv


def meet(peer):
    peer.sendall(b"x")
    assert peer.recv(1) == b"x"


def hand_on():
    with open("prepared", "w") as file:
        file.write("x" * 5000)
    if HOW == "system":
        assert os.system("true; cp prepared data") == 0
    elif HOW == "run":
        subprocess.run("true; cp prepared data", shell=True, check=True)
    else:
        os.rename("prepared", "data.tmp")
        with open("data", "w") as file:
            file.write("x" * 5000)
        subprocess.run("true; cp data.tmp other", shell=True, check=True)


def rank(number, peer):
    meet(peer)
    if number == 0:
        hand_on()
    if not FORGET:
        meet(peer)
    if number == 1:
        if FORGET:
            time.sleep(1.5)
        with open("data") as file:
            file.read()
    meet(peer)


def main():
    if "RANK" in os.environ:
        port = int(os.environ["MASTER_PORT"])
        if os.environ["RANK"] == "0":
            with socket.create_server(("127.0.0.1", port)) as server:
                peer = server.accept()[0]
        else:
            for _ in range(400):
                try:
                    peer = socket.create_connection(("127.0.0.1", port))
                    break
                except OSError:
                    time.sleep(0.05)
        return rank(int(os.environ["RANK"]), peer)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    children = [subprocess.Popen([sys.executable, *sys.argv],
                                 env={**os.environ, "RANK": str(number), "WORLD_SIZE": "2",
                                      "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}) for number in range(2)]
    return max(child.wait() for child in children)


sys.exit(main())
