"""Ways of ranks_by_hand.py to wait at a pipe that has a name."""
import os


class Opened:
    """Rank 0 opens it and closes it again: nothing goes through."""

    def __init__(self):
        os.mkfifo("meeting")

    @staticmethod
    def arguments():
        return []

    @staticmethod
    def tell():
        os.close(os.open("meeting", os.O_WRONLY))

    @staticmethod
    def wait():
        os.close(os.open("meeting", os.O_RDONLY))


class OpenedFirst(Opened):
    """To wait is the first thing that the rank does."""

    comes_first = True


class OpenedToWrite(Opened):
    """Rank 1 opens it to write, and rank 0 to read."""

    tell, wait = Opened.wait, Opened.tell


class SentThrough(Opened):
    """Both have opened it long before; rank 0 sends a line."""

    @classmethod
    def meet(cls, rank):
        cls.end = open("meeting", "wb" if rank == 0 else "rb", buffering=0)

    @classmethod
    def tell(cls):
        cls.end.write(b"ready\n")

    @classmethod
    def wait(cls):
        assert cls.end.readline() == b"ready\n"


class ClosedUnused(SentThrough):
    """Likewise, and rank 0 closes its end, into which it has written nothing."""

    @classmethod
    def tell(cls):
        cls.end.close()

    @classmethod
    def wait(cls):
        assert cls.end.read() == b""


WAYS = {"opened": Opened, "opened_first": OpenedFirst, "opened_to_write": OpenedToWrite, "sent_through": SentThrough,
        "closed_unused": ClosedUnused}
