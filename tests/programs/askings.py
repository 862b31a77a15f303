"""Ways of ranks_by_hand.py to wait by asking for the state of a file or folder, or whether it is there."""
import os
import time

from readings import Marker


class Time(Marker):
    """A file that is there changes its time."""

    asked = "ready"

    def __init__(self):
        super().tell(None)

    def arguments(self):
        return [str(os.stat(self.asked).st_mtime_ns)]

    @classmethod
    def wait(cls, before):
        while os.stat(cls.asked).st_mtime_ns == int(before):
            time.sleep(0.02)


class Touched(Time):
    """Its time is set, and nothing is written."""

    @staticmethod
    def tell(_):
        os.utime("ready", (1, 1))


class TouchedOpen(Time):
    """Likewise, through a descriptor; who waits has one, too."""

    @staticmethod
    def tell(_):
        with open("ready") as file:
            os.utime(file.fileno(), (1, 1))

    @staticmethod
    def wait(before):
        with open("ready") as file:
            while os.fstat(file.fileno()).st_mtime_ns == int(before):
                time.sleep(0.02)


class FolderTime(Time):
    """Rank 0 publishes a file in a folder, whose time changes."""

    written, asked = "folder/ready", "folder"

    def __init__(self):
        os.mkdir("folder")


class FolderCleared(FolderTime):
    """Rank 0 deletes a file in a folder, whose time changes."""

    def __init__(self):
        super().__init__()
        super().tell(None)

    @staticmethod
    def tell(_):
        os.remove("folder/ready")


class Linked(Marker):
    """Rank 0 makes a marker in a folder, to which another link leads."""

    written = "folder/ready"

    def __init__(self):
        os.mkdir("folder")
        os.symlink("folder", "linked")
        os.symlink("folder/ready", "pointer")


class LinkedFile(Linked):
    """Rank 1 asks for it by a link to it."""

    awaited = "pointer"


class LinkedAccess(Linked):
    """Rank 1 asks whether it may read it, by a link to the folder."""

    @staticmethod
    def wait(_):
        while not os.access("linked/ready", os.R_OK):
            time.sleep(0.02)


class LinkedFolder(Linked):
    """The marker is a folder."""

    awaited = "linked/ready"

    @staticmethod
    def tell(_):
        os.mkdir("folder/ready")


class LinkedListing(Linked):
    """Rank 1 lists the folder by the link."""

    @staticmethod
    def wait(_):
        while "ready" not in os.listdir("linked"):
            time.sleep(0.02)


class LinkedFolderTime(Linked):
    """Rank 1 asks for the folder's time by the link; rank 0 has made the folder."""

    def __init__(self):
        os.symlink("folder", "linked")

    @staticmethod
    def meet(rank, *_):
        if rank == 0:
            os.mkdir("folder")

    @staticmethod
    def wait(_):
        while not os.path.isdir("linked"):
            time.sleep(0.02)
        before = os.stat("linked").st_mtime_ns
        while os.stat("linked").st_mtime_ns == before:
            time.sleep(0.02)


WAYS = {"time": Time, "touched": Touched, "touched_open": TouchedOpen, "folder_time": FolderTime,
        "folder_cleared": FolderCleared, "linked_file": LinkedFile, "linked_access": LinkedAccess,
        "linked_folder": LinkedFolder, "linked_listing": LinkedListing, "linked_folder_time": LinkedFolderTime}
