"""A disk on which a save takes more than a second stops everybody, if one rank saves and all wait; else nobody.

The trainer is healthy, and sleeps nowhere: what is slow is the file system below its checkpoints (tests/tools/caching_mount.cpp).
"""
import caching_mount
import ddpscope
import hosts
import pytest
import several_hosts
import trainer

SECONDS = 1.6  # that a file takes at least: beyond the second from which it counts
BACKGROUND = ["saved-in-a-thread", "saved-in-a-process"]
REMAINS = {"unsharded-sampler", "repeated-epoch-order"}  # may be left unjudged: the jobs are short


def draw_of(seed, name, ranks):
    draw = trainer.Draw(seed, f"slow-checkpoint/{name}", ranks)
    draw.timeout = 60  # a slow machine adds to slow saves
    return draw


def pace_of(draw, folder, slow, twin):
    """Bytes a second at which each file of a checkpoint takes so long, as a short run on the machine's own disk shows."""
    if not slow:
        return 0
    short = [trainer.TRAINER, *draw.arguments(), "--steps", 1, "--workdir", folder / "short_out"]
    done = ddpscope.start([ddpscope.DDPSCOPE, "run", "--cpu", "-o", folder / "short", "--", *short], folder)
    assert done.code == 0, done.stderr[-3000:]
    size, = {path.stat().st_size for path in (folder / "short_out" / "checkpoints").glob("*.bin")}
    return size / SECONDS / (draw.ranks if twin == "sharded-checkpoint" else 1)


def model_of(twin):
    """What is saved in the background is written before the next save begins: an epoch takes longer."""
    return {"STANDIN_KERNEL_NS": "400000"} if twin in BACKGROUND else {}


def save_slowly(tmp_path, ranks, seed, twin="", slow=True):
    """Trains with checkpoints on a disk of this pace; returns the draw and the trace."""
    caching_mount.skip_where_impossible()
    draw = draw_of(seed, twin or "rank-0", ranks)
    pace = pace_of(draw, tmp_path, slow, twin)
    (tmp_path / "backing").mkdir()
    (tmp_path / "out").mkdir()
    command = [trainer.TRAINER, *draw.arguments(), "--workdir", tmp_path / "out", *(["--twin", twin] if twin else [])]
    with caching_mount.mounted(tmp_path / "backing", tmp_path / "out" / "checkpoints", bytes_per_second=pace):
        done = ddpscope.record(command, tmp_path / "trace", tmp_path, cpu=True, env=model_of(twin), timeout=240)
    assert done.code == 0, done.stderr[-3000:]
    return draw, tmp_path / "trace"


def mount_on(host, backing, point, pace):
    """On that host, for as long as it lasts."""
    server = host.start(caching_mount.command(backing, point, bytes_per_second=pace, source="store:/checkpoints"))
    caching_mount.wait_until(lambda: caching_mount.is_mounted(point, host.inside), lambda: server.poll() is None)


def save_slowly_on_hosts(tmp_path, ranks_per_host, seed, twin="", slow=True):
    """Likewise on two hosts, each with a mount of its own of one slow store."""
    caching_mount.skip_where_impossible()
    draw = draw_of(seed, f"hosts {twin or 'rank-0'}", 2 * ranks_per_host)
    pace = pace_of(draw, tmp_path, slow, twin)
    (tmp_path / "backing").mkdir()
    skews = [hosts.Skew(), hosts.Skew(monotonic_s=1000)]
    with hosts.hosts(2, tmp_path / "hosts", skews=skews) as pair:
        work = pair[0].shared / "job"
        pair[0].seen_from_outside(work / "checkpoints").mkdir(parents=True)
        for host in pair:
            mount_on(host, tmp_path / "backing", work / "checkpoints", pace)
        several_hosts.assert_trained(several_hosts.train(
            pair, draw, work, tmp_path / "trace", *(["--twin", twin] if twin else []),
            environment=lambda rank: model_of(twin)))
    return draw, tmp_path / "trace"


def assert_rank_0_saves(draw, trace):
    """The only finding: all others wait for rank 0 at each save."""
    finding = ddpscope.only_finding(trace, "slow-checkpoint")
    assert finding["ranks"] == [0] and finding["severity"] == "warning" and finding["count"] == draw.epochs
    trainer.assert_at(finding, 0, "open", trainer.place("checkpoint.cpp", "write_atomically(path, Snapshot(step, learners, {})"))
    waiting = [step for step in finding["evidence"] if step["rank"] != 0]
    assert len(waiting) == min(draw.ranks - 1, 4) and all("its host waits for it" in step["detail"] for step in waiting)
    steps = draw.epochs * draw.steps_per_epoch
    # All that the disk took, of the file that was written while the others waited already.
    assert finding["cost"]["ms_per_step"] * steps > draw.epochs * 1000, finding["cost"]


@trainer.everywhere
def test_all_wait_for_rank_0(tmp_path, ranks, seed):
    assert_rank_0_saves(*save_slowly(tmp_path, ranks, seed))


@trainer.everywhere
def test_each_saves_its_part(tmp_path, ranks, seed):
    trainer.assert_silent(save_slowly(tmp_path, ranks, seed, "sharded-checkpoint")[1])


@trainer.everywhere
def test_a_disk_that_is_fast(tmp_path, ranks, seed):
    trainer.assert_silent(save_slowly(tmp_path, ranks, seed, slow=False)[1])


@several_hosts.sizes
def test_two_hosts_wait_for_rank_0(tmp_path, ranks_per_host, seed):
    assert_rank_0_saves(*save_slowly_on_hosts(tmp_path, ranks_per_host, seed))


@several_hosts.sizes
@pytest.mark.parametrize("twin", ["sharded-checkpoint", *BACKGROUND])
def test_nobody_waits_on_two_hosts(tmp_path, ranks_per_host, seed, twin):
    trainer.assert_silent(save_slowly_on_hosts(tmp_path, ranks_per_host, seed, twin)[1], perhaps=REMAINS)


@several_hosts.sizes
def test_a_disk_of_two_hosts_that_is_fast(tmp_path, ranks_per_host, seed):
    trainer.assert_silent(save_slowly_on_hosts(tmp_path, ranks_per_host, seed, slow=False)[1], perhaps=REMAINS)
