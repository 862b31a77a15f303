"""Ways of ranks_by_hand.py to wait by means of queues, semaphores, memory and events of the operating system."""
import ctypes
import mmap
import os
import struct
import time

LIBC = ctypes.CDLL(None, use_errno=True)


def called(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Number:
    """An object of the operating system that has a number, for all who know it."""

    def arguments(self):
        return [str(self.number)]


class Queue(Number):
    """Rank 0 puts a message into a queue of System V."""

    def __init__(self):
        self.number = called(LIBC.msgget(0, 0o600))

    def end(self):
        LIBC.msgctl(self.number, 0, None)

    @staticmethod
    def tell(number):
        called(LIBC.msgsnd(int(number), ctypes.create_string_buffer(struct.pack("l8s", 1, b"ready")), 8, 0))

    @staticmethod
    def wait(number):
        called(LIBC.msgrcv(int(number), ctypes.create_string_buffer(64), 8, ctypes.c_long(0), 0))


class Semaphores(Number):
    """Rank 0 raises a semaphore of System V."""

    def __init__(self):
        self.number = called(LIBC.semget(0, 1, 0o600))

    def end(self):
        LIBC.semctl(self.number, 0, 0)

    @staticmethod
    def change(number, by):
        called(LIBC.semop(int(number), ctypes.create_string_buffer(struct.pack("Hhh", 0, by, 0)), 1))

    @classmethod
    def tell(cls, number):
        cls.change(number, 1)

    @classmethod
    def wait(cls, number):
        cls.change(number, -1)


class Attached(Number):
    """Rank 0 sets a flag in memory of System V."""

    def __init__(self):
        self.number = called(LIBC.shmget(0, 4096, 0o600))

    def end(self):
        LIBC.shmctl(self.number, 0, None)

    @staticmethod
    def flag(number):
        LIBC.shmat.restype = ctypes.c_void_p
        return ctypes.c_int.from_address(LIBC.shmat(int(number), None, 0))

    @classmethod
    def tell(cls, number):
        cls.flag(number).value = 1

    @classmethod
    def wait(cls, number):
        flag = cls.flag(number)
        while not flag.value:
            time.sleep(0.01)


class PosixQueue:
    """Rank 0 puts a message into a queue of POSIX."""

    def __init__(self):
        self.name = f"/ranks.{os.getpid()}"
        flags = os.O_CREAT | os.O_RDWR
        self.queue = called(LIBC.mq_open(self.name.encode(), flags, 0o600, struct.pack("8l", 0, 4, 64, 0, 0, 0, 0, 0)))

    def arguments(self):
        return [self.name]

    def end(self):
        LIBC.mq_unlink(self.name.encode())

    @staticmethod
    def tell(name):
        called(LIBC.mq_send(called(LIBC.mq_open(name.encode(), os.O_RDWR)), b"ready", 5, 0))

    @staticmethod
    def wait(name):
        queue = called(LIBC.mq_open(name.encode(), os.O_RDWR))
        called(LIBC.mq_receive(queue, ctypes.create_string_buffer(64), 64, None))


class Event:
    """Rank 0 writes to an event descriptor."""

    def __init__(self):
        self.event = os.eventfd(0, 0)

    def arguments(self):
        return [str(self.event)]

    def descriptors(self):
        return [self.event]

    @staticmethod
    def tell(event):
        os.write(int(event), struct.pack("Q", 1))

    @staticmethod
    def wait(event):
        os.read(int(event), 8)


class Anonymous:
    """Rank 0 sets a flag in memory that both have from who forked them."""

    forks = True
    memory = None

    def __init__(self):
        Anonymous.memory = mmap.mmap(-1, 4096)

    def arguments(self):
        return []

    @classmethod
    def tell(cls):
        cls.memory[0] = 1

    @classmethod
    def wait(cls):
        while not cls.memory[0]:
            time.sleep(0.01)
