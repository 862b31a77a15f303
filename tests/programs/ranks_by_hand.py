"""Ranks that a script starts by itself, without a launcher; rank 1 waits for rank 0 by means of the operating system.

usage: ranks_by_hand.py HOW [--forget] [--four]: see WAYS; with four ranks, all others wait for rank 0
"""
import os
import signal
import socket
import subprocess
import sys
import time
from multiprocessing import shared_memory

import askings
import named_pipes
import readings
from exchanges import LIBC, Anonymous, Attached, Event, PosixQueue, Queue, Semaphores, called
from readings import Marker


class Pipe:
    """Rank 0 closes its end of a pipe."""

    def __init__(self):
        self.ends = os.pipe()

    def arguments(self):
        return [str(end) for end in self.ends]

    def descriptors(self):
        return self.ends

    @staticmethod
    def tell(receiving, sending):
        os.close(int(receiving))
        os.close(int(sending))

    @staticmethod
    def wait(receiving, sending):
        os.close(int(sending))
        while os.read(int(receiving), 1):
            pass


class Socket:
    """Rank 0 closes a connection, to which it has sent nothing."""

    def __init__(self):
        self.listening = socket.create_server(("127.0.0.1", 0))

    def arguments(self):
        return [str(self.listening.getsockname()[1]), str(self.listening.fileno())]

    def descriptors(self):
        return [self.listening.fileno()]

    connection = None

    @classmethod
    def meet(cls, rank, port, listening):
        cls.connection = socket.create_connection(("127.0.0.1", int(port))) if rank == 0 else \
            socket.socket(fileno=int(listening)).accept()[0]

    @classmethod
    def tell(cls, *_):
        cls.connection.close()

    @classmethod
    def wait(cls, *_):
        while cls.connection.recv(1):
            pass


class Pair(Pipe):
    """Rank 0 sends a byte into one of two sockets that the script has made."""

    def __init__(self):
        self.ends = [end.detach() for end in socket.socketpair()]

    @staticmethod
    def tell(sending, _):
        os.write(int(sending), b"x")

    @staticmethod
    def wait(_, receiving):
        os.read(int(receiving), 1)


class Renamed(Socket):
    """Rank 0 sends a byte to a Unix socket, whose name is relative and was changed since."""

    def __init__(self):
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind("rendezvous")
        self.listening.listen()
        os.rename("rendezvous", "meeting")

    def arguments(self):
        return [os.path.abspath("meeting"), str(self.listening.fileno())]

    @classmethod
    def meet(cls, rank, path, listening):
        if rank == 0:
            cls.connection = socket.socket(socket.AF_UNIX)
            cls.connection.connect(path)
        else:
            cls.connection = socket.socket(fileno=int(listening)).accept()[0]

    @classmethod
    def tell(cls, *_):
        cls.connection.send(b"x")

    @classmethod
    def wait(cls, *_):
        cls.connection.recv(1)


class Datagram:
    """Rank 0 sends a datagram."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))

    def arguments(self):
        return [str(self.socket.getsockname()[1]), str(self.socket.fileno())]

    def descriptors(self):
        return [self.socket.fileno()]

    @staticmethod
    def tell(port, _):
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"ready", ("127.0.0.1", int(port)))

    @staticmethod
    def wait(_, bound):
        socket.socket(fileno=int(bound)).recvfrom(16)


class Memory:
    """Rank 0 sets a flag in memory that both share."""

    def __init__(self):
        self.memory = shared_memory.SharedMemory(create=True, size=4096)

    def arguments(self):
        return [self.memory.name]

    def end(self):
        self.memory.unlink()

    @staticmethod
    def open(name):
        from multiprocessing import resource_tracker
        memory = shared_memory.SharedMemory(name)
        resource_tracker.unregister(memory._name, "shared_memory")
        return memory

    @classmethod
    def tell(cls, name):
        memory = cls.open(name)
        memory.buf[0] = 1

    @classmethod
    def wait(cls, name):
        memory = cls.open(name)
        while not memory.buf[0]:
            time.sleep(0.01)


class Signal:
    """Rank 0 sends rank 1 a signal."""

    def arguments(self):
        return ["pid"]

    @staticmethod
    def meet(rank, file):
        if rank == 1:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

    @staticmethod
    def tell(_):
        os.kill(int(os.environ["PEER"]), signal.SIGUSR1)

    @staticmethod
    def wait(_):
        signal.sigwait([signal.SIGUSR1])


class Notice(Marker):
    """Rank 1 is told of changes in a folder."""

    written = "folder/ready"

    @staticmethod
    def meet(rank, _):
        if rank == 1:
            os.makedirs("folder", exist_ok=True)

    @staticmethod
    def wait(_):
        changes = called(LIBC.inotify_init())
        called(LIBC.inotify_add_watch(changes, b"folder", 0x100))
        os.read(changes, 4096)


class First(Marker):
    """The wait is the first thing that the rank does."""

    comes_first = True


class Cache(Marker):
    """In a folder whose files are left out of the analysis."""

    written = awaited = ".cache/ready"


class Shell(Marker):
    """Another program looks for it, and does nothing else that is recorded."""

    @classmethod
    def wait(cls, _):
        subprocess.run(["sh", "-c", f"until test -f {cls.awaited}; do sleep 0.02; done"], check=True)


class Stranger(Marker):
    """A program that is given no environment, and hence not recorded, looks for it."""

    @classmethod
    def wait(cls, _):
        script = f"import os, time\nwhile not os.path.exists('{cls.awaited}'): time.sleep(0.02)"
        subprocess.run([sys.executable, "-I", "-c", script], env={}, check=True)


class Told(Marker):
    """Likewise, and says so at the other end of a pipe; nobody waits for its end."""

    @classmethod
    def wait(cls, _):
        script = f"until test -f {cls.awaited}; do sleep 0.02; done; echo there; sleep 0.2"
        cls.child = subprocess.Popen(["sh", "-c", script], env={"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE)
        assert cls.child.stdout.readline() == b"there\n"


class Link(Marker):
    """Through a symbolic link to its folder."""

    written, awaited = "folder/ready", "linked/ready"

    @staticmethod
    def meet(rank, _):
        if rank == 1:
            os.makedirs("folder", exist_ok=True)
            os.symlink("folder", "linked")


class Latest(Marker):
    """A link that is switched by renaming a new one over it."""

    def __init__(self):
        os.symlink("old", "latest")

    @staticmethod
    def tell(_):
        os.symlink("new", "latest.tmp")
        os.replace("latest.tmp", "latest")

    @staticmethod
    def wait(_):
        while os.readlink("latest") != "new":
            time.sleep(0.02)


WAYS = {**readings.WAYS, **askings.WAYS, **named_pipes.WAYS, "first": First, "renamed": Renamed, "pair": Pair, "queue": Queue, "semaphores": Semaphores,
        "attached": Attached, "posix_queue": PosixQueue,
        "event": Event, "anonymous": Anonymous, "notice": Notice,
        "cache": Cache, "shell": Shell, "stranger": Stranger, "told": Told, "link": Link,
        "latest": Latest,
        "pipe": Pipe, "socket": Socket, "datagram": Datagram, "memory": Memory, "signal": Signal}


def run(rank, how, forget, arguments):
    way = WAYS[how]
    if hasattr(way, "meet"):
        way.meet(rank, *arguments)
    if not hasattr(way, "comes_first"):
        with open(f"own{rank}", "w") as file:
            file.write("begins")
    if rank == 0:
        time.sleep(0.3)
        with open("data", "w") as file:
            file.write("of rank 0")
        if not forget:
            way.tell(*arguments)
    elif not forget:
        way.wait(*arguments)
    else:
        time.sleep(0.4 * int(os.environ["WORLD_SIZE"]))  # rank 0 starts last
    if rank > 0:
        with open(f"own{rank}", "a") as file:
            file.write("goes on")
        with open("data") as file:
            assert file.read() == "of rank 0"
    time.sleep(0.3)


def fork_ranks(how, forget):
    ranks = []
    for rank in (1, 0):
        ranks.append(os.fork())
        if not ranks[-1]:
            os.environ.update({"RANK": str(rank), "WORLD_SIZE": "2"})
            run(rank, how, forget, [])
            os._exit(0)
    return max(os.waitpid(rank, 0)[1] for rank in ranks)


def start(how, forget, world):
    way = WAYS[how]()
    if hasattr(way, "forks"):
        return fork_ranks(how, forget)
    descriptors = way.descriptors() if hasattr(way, "descriptors") else []
    command = [sys.executable, __file__, how, *(["--forget"] if forget else [])]
    ranks = []
    for rank in reversed(range(world)):
        environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world), "PEER": str(ranks[0].pid if ranks else 0)}
        ranks.append(subprocess.Popen([*command, *way.arguments()], env=environment, pass_fds=descriptors))
    for descriptor in descriptors:
        os.close(descriptor)
    codes = [rank.wait() for rank in ranks]
    if hasattr(way, "end"):
        way.end()
    return max(codes)


if __name__ == "__main__":
    forget = "--forget" in sys.argv
    words = [word for word in sys.argv[1:] if word not in ("--forget", "--four")]
    if "RANK" in os.environ:
        run(int(os.environ["RANK"]), words[0], forget, words[1:])
    else:
        sys.exit(start(words[0], forget, 4 if "--four" in sys.argv else 2))
