"""Ways of ranks_by_hand.py to wait by means of files, and to read them without waiting."""
import json
import os
import time


def wait_until_there(path):
    while not os.path.exists(path):
        time.sleep(0.02)


class Marker:
    """Rank 0 makes a file that rank 1 looks for until it is there."""

    written = awaited = "ready"

    def arguments(self):
        return ["marker"]

    @classmethod
    def tell(cls, _):
        os.makedirs(os.path.dirname(cls.written) or ".", exist_ok=True)
        with open(cls.written, "w"):
            pass

    @classmethod
    def wait(cls, _):
        wait_until_there(cls.awaited)


class Log(Marker):
    """Rank 0 goes on writing a log, which rank 1 reads to its end, and on when there is more."""

    def __init__(self):
        super().tell(None)

    @classmethod
    def meet(cls, rank, _):
        if rank == 0:
            cls.log = open("ready", "w", buffering=1)
            cls.log.write("begins\n")

    @classmethod
    def tell(cls, _):
        cls.log.write("data is there\n")

    @staticmethod
    def wait(_):
        with open("ready") as log:
            while "data is there" not in log.readline():
                time.sleep(0.02)


class Added(Log):
    """Both add to it, and rank 1 opens it anew each time, to go on where it ended."""

    @classmethod
    def meet(cls, rank, _):
        cls.tell("begins")

    @staticmethod
    def tell(_):
        with open("ready", "a") as log:
            log.write(f"rank {os.environ['RANK']}\n")

    @staticmethod
    def wait(_):
        until, text = 0, ""
        while text.count("rank 0") < 2:
            time.sleep(0.02)
            with open("ready") as log:
                log.seek(until)
                text += log.read()
                until = log.tell()


class Retry(Marker):
    """Rank 1 tries again while a file is not there, or not whole."""

    @staticmethod
    def tell(_):
        with open("ready", "w") as file:
            json.dump({"data": "is there"}, file)

    @staticmethod
    def wait(_):
        while True:
            try:
                with open("ready") as file:
                    return json.load(file)
            except (FileNotFoundError, ValueError):
                time.sleep(0.02)


class Torn(Retry):
    """For some time it is there, but not whole."""

    @staticmethod
    def tell(_):
        with open("ready", "w") as file:
            file.write('{"data": ')
            file.flush()
            time.sleep(0.2)
            file.write('"is there"}')


class Once(Torn):
    """Rank 1 tries again until it is there, and takes what there is of it."""

    @staticmethod
    def wait(_):
        while True:
            try:
                with open("ready") as file:
                    return file.read()
            except FileNotFoundError:
                time.sleep(0.02)


class Twice(Torn):
    """Rank 1 waits until it is there, and reads it at two lines, the second time late."""

    @staticmethod
    def wait(_):
        wait_until_there("ready")
        with open("ready") as file:
            size = len(file.read())
        time.sleep(0.4)
        with open("ready") as file:
            assert len(file.read()) >= size


class Whole(Torn):
    """Rank 1 asks once whether a file is there, and finds it whole."""

    half, whole = 0, 0  # when they are written: seconds after the start

    def __init__(self):
        self.start = time.time()

    def arguments(self):
        return [str(self.start)]

    @classmethod
    def tell(cls, start):
        with open("ready", "w") as file:
            time.sleep(max(0, float(start) + cls.half - time.time()))
            file.write('{"data": ')
            file.flush()
            time.sleep(max(0, float(start) + cls.whole - time.time()))
            file.write('"is there"}')

    @staticmethod
    def wait(start):
        time.sleep(max(0, float(start) + 2 - time.time()))
        if os.path.exists("ready"):
            with open("ready") as file:
                return file.read()


class Half(Whole):
    """It is still being written: rank 1 reads half of it."""

    half, whole = 0, 4


class Empty(Whole):
    """It is still being written: rank 1 reads nothing."""

    half, whole = 4, 4


class Folder(Marker):
    """Rank 1 tries to make a file in a folder that rank 0 makes, until it can."""

    @staticmethod
    def tell(_):
        os.mkdir("ready")

    @staticmethod
    def wait(_):
        while True:
            try:
                with open("ready/log1", "w") as log:
                    return log.write("begins")
            except FileNotFoundError:
                time.sleep(0.02)


class Early(Whole):
    """Rank 1 goes on without its file, for its folder comes later."""

    @staticmethod
    def tell(start):
        time.sleep(max(0, float(start) + 4 - time.time()))
        os.mkdir("ready")
        with open("done", "w"):
            pass

    @staticmethod
    def wait(_):
        try:
            with open("ready/log1", "w") as log:
                log.write("begins")
        except FileNotFoundError as error:
            print(error)
        wait_until_there("done")


class Size(Log):
    """Rank 1 asks a file that it has open for its size, until there is something in it."""

    @classmethod
    def meet(cls, rank, _):
        pass

    @staticmethod
    def tell(_):
        with open("ready", "a") as file:
            file.write("data is there")

    @staticmethod
    def wait(_):
        with open("ready") as file:
            while os.fstat(file.fileno()).st_size == 0:
                time.sleep(0.02)


class End(Size):
    """Rank 1 seeks the end of a file until it lies elsewhere."""

    @staticmethod
    def wait(_):
        with open("ready") as file:
            while file.seek(0, os.SEEK_END) == 0:
                time.sleep(0.02)


class Glance(Size):
    """Rank 1 opens it once, late, and asks for its size once."""

    @staticmethod
    def wait(_):
        time.sleep(0.8)
        with open("ready") as file:
            assert os.fstat(file.fileno()).st_size and file.read()


WAYS = {"size": Size, "end": End, "log": Log, "added": Added, "retry": Retry, "torn": Torn, "once": Once, "twice": Twice,
        "glance": Glance, "whole": Whole, "half": Half, "empty": Empty, "folder": Folder, "early": Early}
