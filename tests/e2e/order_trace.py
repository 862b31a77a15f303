"""What the trace of a run of the reference trainer says about order, read by `ddpscope dump`."""
import records

COLLECTIVES = ("ncclAllReduce", "ncclBroadcast", "ncclAllGather")
WAITS = ("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize")


class Trace:
    """The calls of each rank's main process, in the order of their begin."""

    def __init__(self, folder):
        everything = [record for record in records.read(folder) if record.rank is not None and record.begin is not None]
        main = {record.pid for record in everything if record.call == "cudaSetDevice"}  # loader workers use no device
        self.ranks = sorted({record.rank for record in everything})
        self.calls = {rank: sorted((record for record in everything if record.rank == rank and record.pid in main),
                                   key=lambda record: record.begin) for rank in self.ranks}

    def find(self, rank, *calls, **fields):
        """The calls of these names that have these fields; `path` is the end of a path, `in_path` a text in it."""
        part, end = fields.pop("in_path", ""), fields.pop("path", "")
        return [record for record in self.calls[rank] if record.call in calls and part in record.get("path", "")
                and record.get("path", "").endswith(end)
                and all(record.get(name) == wanted for name, wanted in fields.items())]

    def opened(self, rank, path, writing=False):
        """The opens of a path that ends so, for writing or for reading only."""
        return [record for record in self.find(rank, "open", "openat", path=path)
                if record["flags"].startswith("O_WRONLY") == writing and record["error"] == 0]

    def collectives(self, rank):
        return self.find(rank, *COLLECTIVES)

    def barriers(self, rank):
        return self.find(rank, "ncclAllReduce", count=1, datatype="float32")

    def collectives_before(self, record):
        """How many collectives the rank has issued before. Two ranks' accesses after equally many have none between."""
        return sum(earlier.begin < record.begin for earlier in self.collectives(record.rank))

    def between(self, first, last, *calls):
        """The rank's calls of these names from one of its calls to a later one."""
        return [record for record in self.find(first.rank, *calls) if first.begin < record.begin < last.begin]


def peers(trace):
    return [rank for rank in trace.ranks if rank != 0]
