"""The programs under `ddpscope run --cpu`: nothing is found in a healthy one, each bug with its rank, call and line."""
import pathlib
import re

import ddpscope
import launch
import pytest

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
SOURCES = pathlib.Path(__file__).parent


def recorded(command, folder):
    done = ddpscope.record(command, folder / "trace", folder, cpu=True)
    return done, folder / "trace"


def expect_silence(command, folder, ranks):
    done, trace = recorded(command, folder)
    assert done.code == 0, done.stdout + done.stderr
    report = ddpscope.report(trace)
    assert report["findings"] == []
    assert report["job"]["ranks"] == ranks


def expect_place(finding, rank, source, text):
    """Some evidence of `rank` stands at the line of `source` that contains text."""
    place = f"{source}:{ddpscope.line_of(SOURCES / source, text)}"
    stacks = ddpscope.frames(finding, rank)
    assert any(place in frame for frame in stacks), f"{place} not in {stacks}"


def test_one_process_with_all_devices(tmp_path, seed):
    rng = ddpscope.draw(seed, "all_devices")
    devices = rng.choice([2, 4, 8])
    expect_silence(launch.all_devices(devices, rng.randrange(1, 50), 20000, rng.randrange(2, 6)), tmp_path, devices)


def test_one_process_one_device_with_another_count(tmp_path, seed):
    rng = ddpscope.draw(seed, "all_devices_bug")
    devices = rng.choice([3, 4, 8])
    odd, count = rng.randrange(devices), rng.randrange(100, 4000)
    done, trace = recorded(launch.all_devices(devices, 1024, 4096, rng.randrange(2, 6), odd, count,
                                              patience=launch.SHORT), tmp_path)
    assert done.code == 124
    finding = ddpscope.only_finding(trace, "mismatched-collective")
    assert finding["ranks"] == [odd]
    evidence = [step for step in finding["evidence"] if step["rank"] == odd]
    assert any(step["call"] == "ncclAllReduce" and str(count) in step["detail"] for step in evidence)
    expect_place(finding, odd, "all_devices.cu", "ncclAllReduce(sendbuff[i]")


def test_id_through_a_file(tmp_path, seed):
    rng = ddpscope.draw(seed, "id_by_file")
    ranks = rng.choice([2, 4])
    expect_silence(launch.id_by_file(ranks, rng.randrange(2000, 20000), 3, rng.randrange(3, 6)), tmp_path, ranks)


def test_id_through_a_file_and_one_barrier_skipped(tmp_path, seed):
    rng = ddpscope.draw(seed, "id_by_file_bug")
    ranks, epochs = rng.choice([3, 4, 8]), rng.randrange(2, 5)
    skip = rng.randrange(ranks)
    done, trace = recorded(launch.id_by_file(ranks, rng.randrange(2000, 20000), epochs, rng.randrange(3, 6), skip,
                                             rng.randrange(epochs - 1), patience=launch.SHORT), tmp_path)
    assert done.code == 1
    finding = ddpscope.only_finding(trace, "skipped-barrier")
    assert finding["ranks"] == [skip]
    expect_place(finding, (skip + 1) % ranks, "id_by_file.cu", "ncclAllReduce(flag, flag, 1")


def test_id_through_a_file_and_the_last_barrier_skipped(tmp_path, seed):
    """The rank comes to its end without an error: what it left out is told, and where it was before."""
    rng = ddpscope.draw(seed, "id_by_file_end")
    ranks, epochs = rng.choice([3, 4, 8]), rng.randrange(2, 5)
    skip = rng.randrange(ranks)
    done, trace = recorded(launch.id_by_file(ranks, rng.randrange(2000, 20000), epochs, rng.randrange(3, 6), skip, epochs - 1,
                                             patience=launch.SHORT), tmp_path)
    assert done.code == 1
    finding = ddpscope.only_finding(trace, "hung-collective")
    assert finding["ranks"] == [skip]
    assert re.search(rf"; rank {skip} never issued it, #\d+ of the communicator's collectives: its last was the all-reduce of .*"
                     r" at id_by_file\.cu:\d+ main, at .*; it exited with 0, after id_by_file\.cu:\d+ main, at", finding["title"])
    for text in ("ncclAllReduce(g, g", "ncclCommDestroy(job.comm)"):
        expect_place(finding, skip, "id_by_file.cu", text)


def test_id_over_tcp(tmp_path, seed):
    rng = ddpscope.draw(seed, "env_rank")
    ranks = rng.choice([2, 4])
    expect_silence(launch.env_rank(ranks, "out", "weights.bin", rng.randrange(20000, 60000), 3), tmp_path, ranks)


def test_id_over_tcp_and_every_rank_saves(tmp_path, seed):
    rng = ddpscope.draw(seed, "env_rank_bug")
    ranks, name = rng.choice([2, 4]), f"weights-{rng.randrange(1000)}.bin"
    done, trace = recorded(launch.env_rank(ranks, f"run{rng.randrange(10)}", name, rng.randrange(20000, 60000),
                                           rng.randrange(2, 5), "all"), tmp_path)
    assert done.code == 0, done.stderr
    finding = ddpscope.only_finding(trace, "duplicate-checkpoint-write")
    assert finding["ranks"] == list(range(ranks))
    for rank in range(ranks):
        assert any(step.get("file", "").endswith(name) for step in finding["evidence"] if step["rank"] == rank)
        expect_place(finding, rank, "env_rank.cu", "open(path, O_WRONLY | O_CREAT | O_TRUNC")


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("how", ["wait", "enqueue"])
def test_two_communicators_in_opposite_order(tmp_path, how, ranks, seed):
    rng = ddpscope.draw(seed, f"two_groups/{how}/{ranks}")
    odd = rng.randrange(ranks)
    done, trace = recorded(launch.two_groups(ranks, rng.randrange(2, 6), odd, odd, how), tmp_path)
    assert done.code == 1
    finding = ddpscope.only_finding(trace, "hung-collective")
    assert finding["confidence"] == "certain"
    assert finding["ranks"] == ([0, 1] if ranks == 2 else [odd])
    assert finding["consequences"] == []
    assert f"rank {odd}, which waits in the" in finding["title"] or f"rank {odd} waits in the" in finding["title"]
    expect_place(finding, odd, "two_groups.cu", "ncclSum, statistics, stream")
    expect_place(finding, 1 if odd == 0 else 0, "two_groups.cu", "ncclAvg, gradients, stream")


def test_two_communicators_in_one_order(tmp_path, seed):
    rng = ddpscope.draw(seed, "two_groups")
    ranks = rng.choice([2, 4])
    expect_silence(launch.two_groups(ranks, rng.randrange(2, 6), ranks, ranks, rng.choice(["wait", "enqueue"])), tmp_path, ranks)
