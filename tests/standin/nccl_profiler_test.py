"""The stand-in NCCL and profiler plugins: which is loaded, and what it is told."""

import os
from pathlib import Path

import pytest

from nccl_test import Job

BUILD = Path(os.environ["DDPSCOPE_BUILD"])
PLUGINS = BUILD / "lib/tests"

GROUP, COLLECTIVE, POINT_TO_POINT, KERNEL_CHANNEL = 1, 2, 4, 64
GROUP_API, COLLECTIVE_API, POINT_TO_POINT_API, KERNEL_LAUNCH = 256, 512, 1024, 2048
EVERYTHING = 4095
KERNEL_CHANNEL_STOP, GROUP_START_API_STOP, GROUP_END_API_START = "22", "23", "24"


class Log:
    """What the plugin of one rank wrote."""

    def __init__(self, path: Path):
        self.lines = [line.split() for line in path.read_text().splitlines()]

    def inits(self):
        return [line[1:] for line in self.lines if line[0] == "init"]

    def started(self, kind):
        """Per event of a type, in order: its id, its parent's id, its fields."""
        begin = ["start", str(kind)]
        return [(line[1], line[3], line[4:]) for line in self.lines if line[:3:2] == begin]

    def place(self, *begin):
        places = [i for i, line in enumerate(self.lines) if line[:len(begin)] == list(begin)]
        assert len(places) == 1, (begin, self.lines)
        return places[0]

    def ids(self, what):
        return [line[1] for line in self.lines if line[0] == what]


@pytest.fixture
def logs(tmp_path):
    def run(size, scenario, mask, plugin, **environment):
        job = Job(tmp_path, size, "nccl_profiled", scenario, PROFILER_LOG=str(tmp_path / "log"),
                  PROFILER_MASK=str(mask), NCCL_PROFILER_PLUGIN=plugin, **environment)
        codes, errors = job.end()
        assert codes == [0] * size, "".join(errors)
        found = [tmp_path / f"log.{rank.pid}" for rank in job.ranks]
        return [Log(path) if path.exists() else None for path in found], "".join(errors)

    return run


def path_of(version):
    return str(PLUGINS / f"libnccl-profiler-v{version}.so")


def test_events_of_one_call(logs):
    both, errors = logs(2, "one-call", EVERYTHING, path_of(5))
    for rank, log in enumerate(both):
        assert f"NCCL WARN the plugin says {rank}" in errors
        [(communicator, name, nodes, ranks, own)] = log.inits()
        assert (name, nodes, ranks, own) == ("world", "1", "2", str(rank))
        assert communicator == both[0].inits()[0][0]

        [(group_api, no_parent, depth)] = log.started(GROUP_API)
        assert (no_parent, depth) == ("0", ["1"])
        [(api, parent, fields)] = log.started(COLLECTIVE_API)
        assert (parent, fields) == (group_api, ["AllReduce", "1000", "ncclFloat32", "0"])
        [(launch, parent, _)] = log.started(KERNEL_LAUNCH)
        assert parent == group_api
        [(group, parent, _)] = log.started(GROUP)
        [(collective, parent, fields)] = log.started(COLLECTIVE)
        assert (parent, fields) == (api, ["0", "AllReduce", "1000", "0", "ncclFloat32", "1", "RING", "LL"])
        [(kernel, parent, (channel, start))] = log.started(KERNEL_CHANNEL)
        assert (parent, channel) == (collective, "0")

        order = [log.place("start", group_api), log.place("record", group_api, GROUP_START_API_STOP),
                 log.place("start", api), log.place("stop", api),
                 log.place("record", group_api, GROUP_END_API_START),
                 log.place("start", launch), log.place("stop", launch),
                 log.place("start", group), log.place("start", collective), log.place("stop", collective),
                 log.place("stop", group), log.place("stop", group_api)]
        assert order == sorted(order)
        assert log.place("stop", collective) < log.place("start", kernel) < log.place("stop", kernel)
        [stop] = [line[3] for line in log.lines if line[:3] == ["record", kernel, KERNEL_CHANNEL_STOP]]
        assert int(stop) >= int(start) > 0
        assert sorted(log.ids("start")) == sorted(log.ids("stop"))
        assert log.lines[-1] == ["finalize"]


def test_each_run_of_a_graph_has_the_events_of_what_was_captured(logs):
    """The call's own events come once; what a graph runs counts as no call of the program."""
    both, _ = logs(2, "captured", EVERYTHING, path_of(5))
    for log in both:
        (captured, _, _), (later, _, _) = log.started(COLLECTIVE_API)
        collectives = log.started(COLLECTIVE)
        assert [parent for _, parent, _ in collectives].count(captured) == 3
        assert [parent for _, parent, _ in collectives].count(later) == 1
        assert [fields[0] for _, parent, fields in collectives if parent == later] == ["0"]
        assert len(log.started(KERNEL_LAUNCH)) == 2
        assert {parent for _, parent, _ in log.started(KERNEL_CHANNEL)} == {one for one, _, _ in collectives}
        assert sorted(log.ids("start")) == sorted(log.ids("stop"))


def test_kernel_times_are_those_of_the_link_model(logs):
    both, _ = logs(2, "one-call", KERNEL_CHANNEL, path_of(5), STANDIN_LINK="40ms,1GB/s")
    for log in both:
        [(kernel, _, (_, start))] = log.started(KERNEL_CHANNEL)
        [stop] = [line[3] for line in log.lines if line[:3] == ["record", kernel, KERNEL_CHANNEL_STOP]]
        assert int(stop) - int(start) >= 40_000_000


def test_fields_of_every_operation(logs):
    both, _ = logs(2, "all-calls", COLLECTIVE | POINT_TO_POINT, path_of(5))
    for rank, log in enumerate(both):
        other = str(1 - rank)
        assert [fields[:5] for _, _, fields in log.started(COLLECTIVE)] == [
            ["0", "AllReduce", "100", "0", "ncclFloat32"],
            ["0", "AllGather", "400", "0", "ncclInt8"],
            ["0", "ReduceScatter", "100", "0", "ncclFloat32"],
            ["0", "Broadcast", "400", "1", "ncclInt8"],
            ["0", "Reduce", "100", "1", "ncclFloat32"],
            ["1", "AllReduce", "50", "0", "ncclInt32"],
            ["0", "AllReduce", "10", "0", "ncclFloat32"],
        ]
        assert [fields for _, _, fields in log.started(POINT_TO_POINT)] == [
            ["Send", "10", "ncclFloat32", other], ["Recv", "10", "ncclFloat32", other]]
        world, half = log.inits()
        assert world[0] != half[0] and half[1:] == ["world", "1", "1", "0"]
        assert not log.started(KERNEL_CHANNEL) and not log.started(KERNEL_LAUNCH)
    assert both[0].inits()[1][0] != both[1].inits()[1][0]


def test_a_group_is_one_launch_with_all_its_calls(logs):
    both, _ = logs(2, "all-calls", EVERYTHING, path_of(5))
    for log in both:
        group_apis = log.started(GROUP_API)
        assert [depth for _, _, [depth] in group_apis] == ["1"] * 5 + ["2", "1"]
        of_group = [line for line in log.lines if line[0] == "start" and line[3] == group_apis[5][0]]
        assert [line[2] for line in of_group] == [str(COLLECTIVE_API), *[str(POINT_TO_POINT_API)] * 2,
                                                  str(KERNEL_LAUNCH)]
        assert sorted(log.ids("start")) == sorted(log.ids("stop"))


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_old_versions(logs, version):
    both, _ = logs(2, "one-call", EVERYTHING, path_of(version))
    names = ["AllReduce", "ncclFloat32", "RING", "LL"] if version > 1 else ["4", "7", "1", "0"]
    for rank, log in enumerate(both):
        [(group, _, _)] = log.started(GROUP)
        [(collective, parent, fields)] = log.started(COLLECTIVE)
        assert parent == group
        assert fields == ["0", names[0], "1000", "0", names[1], "1", *names[2:]]
        kernels = log.started(KERNEL_CHANNEL)
        assert len(kernels) == (version >= 3)
        assert all(parent == collective for _, parent, _ in kernels)
        assert not any(log.started(kind) for kind in (GROUP_API, COLLECTIVE_API, KERNEL_LAUNCH))
        assert len(log.ids("record")) == (version == 4)
        if version == 4:
            assert log.inits()[0][1:] == ["world", "1", "2", str(rank)]
        assert log.lines[-1] == ["finalize"]


def test_found_by_name_in_the_library_path(logs):
    both, _ = logs(1, "one-call", COLLECTIVE, "v5", LD_LIBRARY_PATH=str(PLUGINS))
    assert len(both[0].started(COLLECTIVE)) == 1


def test_static_plugin_is_looked_for_in_the_program(logs):
    both, _ = logs(1, "one-call", COLLECTIVE, "STATIC_PLUGIN",
                   LD_PRELOAD=" ".join([path_of(5), *(str(BUILD / "lib/standin" / name)
                                                       for name in ("libcudart.so.13", "libnccl.so.2"))]))
    assert len(both[0].started(COLLECTIVE)) == 1


@pytest.mark.parametrize("name", ["none", "/nowhere/libnccl-profiler-x.so", "x"])
def test_without_a_plugin_jobs_run(logs, name):
    both, errors = logs(2, "one-call", EVERYTHING, name)
    assert both == [None, None] and "NCCL WARN" not in errors
