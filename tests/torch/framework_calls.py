"""Reads PyTorch's own calls out of a trace, and finds the interpreters to record them with."""
import subprocess

import pytest
import records
import versions

BOTH = [pytest.param(versions.OLDEST, id="1.13"),
                pytest.param(versions.NEWEST, id="2.15", marks=pytest.mark.skipif(not versions.NEWEST, reason="no PyTorch 2.15"))]

# What says little more on the older one.
MOSTLY_NEWEST = [pytest.param(versions.OLDEST, id="1.13", marks=pytest.mark.long), BOTH[1]]

OPERATIONS = {"c10d_" + name for name in ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "alltoall", "gather",
                                          "scatter", "barrier", "monitored_barrier", "send", "recv")}


def is_newest(python):
    return python == versions.NEWEST


def numbered_lines(script):
    """{comment: line} of the script's lines that end in a comment of their own."""
    lines = {}
    for number, line in enumerate(script.read_text().splitlines(), 1):
        code, mark, comment = line.partition("  # ")
        if mark and code.strip():
            assert comment not in lines
            lines[comment] = number
    return lines


class Calls:
    """The calls of one trace, of each rank in the order of their begins."""

    def __init__(self, trace):
        self.all = records.read(trace)
        self.groups = {(r.pid, r["communicator"]): r for r in self.all if r.call == "c10d_group"}

    def group_of(self, record):
        return self.groups[record.pid, record["communicator"]]["name"]

    def of(self, rank, names):
        return [r for r in self.all if r.rank == rank and r.call in names]

    def with_operation(self, rank, name, operation):
        """The records `name` (c10d_run, c10d_wait) of this operation."""
        return [r for r in self.of(rank, {name}) if (r["communicator"], r["sequence"]) == (operation["communicator"], operation["sequence"])]


def version_of(python):
    return subprocess.run([python, "-c", "import torch; print(torch.__version__)"], stdout=subprocess.PIPE, text=True, check=True).stdout
