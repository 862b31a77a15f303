"""A file system that shows late what others have made is told from a missing barrier; one in time is not told at all.

The trainer is healthy: rank 0 prepares, all meet, all read. What lags is the mount through which some ranks read.
"""
import pathlib
import random
import subprocess

import caching_mount
import ddpscope
import hosts
import pytest
import trainer
from ports import free_port

MANIFEST = "data/manifest.txt"
LISTING_JOB = pathlib.Path(__file__).with_name("listing_job.py")


def ranks_in_a_shell(draw, folders, address, first=0):
    """A process a rank, from `first` on, each with its own name of the working folder; exit code 1 if one failed."""
    arguments = " ".join(map(str, draw.arguments()[2:]))
    lines = [f"export WORLD_SIZE={draw.ranks} MASTER_ADDR={address} MASTER_PORT={draw.port}"]
    lines += [f"RANK={first + local} LOCAL_RANK={local} {trainer.TRAINER} {arguments} --workdir {folder} & all=\"$all $!\""
              for local, folder in enumerate(folders)]
    lines += ["code=0", "for one in $all; do wait $one || code=1; done", "exit $code"]
    return ["sh", "-c", "\n".join(lines)]


def draw_of(seed, name, ranks):
    draw = trainer.Draw(seed, name, ranks)
    draw.port = free_port()
    return draw


def ask_before(manifest):
    """The mount comes to know the folder, and that there is no manifest in it."""
    subprocess.run(["test", "-e", manifest], check=False)


def assert_late(trace, late):
    """The only finding: these ranks do not find the manifest that rank 0 has made before the barrier."""
    finding = ddpscope.only_finding(trace, "filesystem-lag")
    assert finding["ranks"] == sorted({0, *late}), finding["title"]
    assert finding["confidence"] == "likely", "nobody looks again"
    assert set(finding["consequences"]) <= {"hung-collective", "mismatched-collective"}
    written, *ordered, missed = finding["evidence"][:4]
    assert written["rank"] == 0 and missed["rank"] in late, finding["evidence"]
    assert [step["call"] for step in ordered] == ["ncclAllReduce"] * 2
    assert any("corpus.cpp" in frame for frame in missed["stack"]), missed
    assert missed["file"].endswith(MANIFEST) and missed["detail"] == "does not find it"
    return finding


def two_mounts(tmp_path, ranks, seed, keep_s, code):
    """Odd ranks through a mount that keeps what it knows for so long; returns the trace and the draw."""
    draw = draw_of(seed, "filesystem-lag/two-mounts", ranks)
    (tmp_path / "backing" / "job" / "data").mkdir(parents=True)
    with caching_mount.mounted(tmp_path / "backing", tmp_path / "here") as here, \
            caching_mount.mounted(tmp_path / "backing", tmp_path / "there", keep_s=keep_s) as there:
        ask_before(there / "job" / MANIFEST)
        folders = [(there if rank % 2 else here) / "job" for rank in range(ranks)]
        done = ddpscope.record(ranks_in_a_shell(draw, folders, "127.0.0.1"), tmp_path / "trace", tmp_path, cpu=True,
                               timeout=180)
    assert done.code == code, done.stderr[-3000:]
    return tmp_path / "trace"


@trainer.everywhere
def test_a_mount_that_is_late(tmp_path, ranks, seed):
    trace = two_mounts(tmp_path, ranks, seed, caching_mount.FOR_EVER, code=1)
    finding = assert_late(trace, range(1, ranks, 2))
    assert "through another mount" in finding["title"]


@trainer.everywhere
def test_two_mounts_in_time(tmp_path, ranks, seed):
    trainer.assert_silent(two_mounts(tmp_path, ranks, seed, 0, code=0))


@pytest.mark.parametrize("ranks_a_host, seed", [(ranks, seed) for ranks in (1, 2, 4) for seed in ddpscope.SEEDS])
@pytest.mark.parametrize("late", [True, False])
def test_two_hosts(tmp_path, ranks_a_host, seed, late):
    caching_mount.skip_where_impossible()
    draw = draw_of(seed, "filesystem-lag/two-hosts", 2 * ranks_a_host)
    with hosts.hosts(2, tmp_path / "hosts") as pair:
        work = pair[0].shared / "job"
        pair[0].seen_from_outside(work / "data").mkdir(parents=True)
        if late:
            mount_late(pair[1], tmp_path / "hosts")
            hosts.finish([pair[1].start(["test", "-e", work / MANIFEST])])
        started = [host.start([ddpscope.DDPSCOPE, "run", "--cpu", "-o", tmp_path / "trace", "--",
                               *ranks_in_a_shell(draw, [work] * ranks_a_host, pair[0].address, number * ranks_a_host)])
                   for number, host in enumerate(pair)]
        ended = hosts.finish(started, timeout=180)
    assert [done.code for done in ended] == [int(late)] * 2, ended
    if not late:
        return trainer.assert_silent(tmp_path / "trace")
    finding = assert_late(tmp_path / "trace", range(ranks_a_host, 2 * ranks_a_host))
    assert f"from {pair[1].name}" in finding["title"] and f"on {pair[0].name}" in finding["title"]


def mount_late(host, folder, **how):
    """Over the host's mount of the shared folder, from the same source."""
    server = host.start(caching_mount.command(folder / "served,disk", host.shared, keep_s=caching_mount.FOR_EVER,
                                              source=hosts.SOURCE, **how))
    over = lambda: caching_mount.is_mounted(host.shared, host.inside)
    caching_mount.wait_until(over, lambda: server.poll() is None)


# Of two ranks behind one mount the first that makes a file there would have it ask anew for both.
@pytest.mark.parametrize("ranks_a_host, late, again",
                         [(1, True, False), (2, True, False), (1, True, True), (1, False, True), (2, False, False)])
@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_listings(tmp_path, ranks_a_host, seed, late, again):
    caching_mount.skip_where_impossible()
    rng = random.Random(f"listings {seed} {ranks_a_host} {late} {again}")
    shard, older, ranks = f"Shard-{rng.randrange(10**6)}.bin", rng.randrange(30), 2 * ranks_a_host
    with hosts.hosts(2, tmp_path / "hosts") as pair:
        work = pair[0].shared / "job"
        outside = pair[0].seen_from_outside(work)
        outside.mkdir(parents=True)
        for number in range(older):
            (outside / f"older_{number}.bin").touch()
        if late:
            mount_late(pair[1], tmp_path / "hosts", keeps_listings=True)
        command = [ddpscope.DDPSCOPE, "run", "-o", tmp_path / "trace", "--", "/usr/bin/python3", LISTING_JOB]
        words = [work, pair[0].address, free_port(), shard, int(again)]
        started = [host.start([*command, *words], env={"RANK": str(rank), "WORLD_SIZE": str(ranks)})
                   for rank, host in enumerate(host for host in pair for _ in range(ranks_a_host))]
        ended = hosts.finish(started, timeout=120)
    assert [done.code for done in ended] == [0] * ranks, ended
    if not late:
        report = ddpscope.report(tmp_path / "trace")
        assert not report["findings"] and not [gap for gap in report["coverage"] if "filesystem-lag" in gap["unjudged"]]
        return
    finding = ddpscope.only_finding(tmp_path / "trace", "filesystem-lag")
    assert finding["ranks"] == [0, *range(ranks_a_host, ranks)] and finding["confidence"] == ("certain" if again else "likely"), finding
    assert f"job without {shard}" in finding["title"] and f"from {pair[1].name}" in finding["title"], finding["title"]
    told = next(step for step in finding["evidence"] if step["call"] == "listing")
    assert told["detail"].startswith(f"is told {older} entr") and any("shards" in frame for frame in told["stack"]), told
