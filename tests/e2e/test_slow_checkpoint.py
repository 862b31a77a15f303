"""A disk on which a save takes more than a second stops everybody, if one rank saves; not if each saves its part.

The trainer is healthy, and sleeps nowhere: what is slow is the file system below its checkpoints (tests/tools/caching_mount.cpp).
"""
import caching_mount
import ddpscope
import trainer

SECONDS = 1.6  # that a save of the whole state takes at least: beyond the second from which it counts


def size_of_a_checkpoint(draw, arguments, folder):
    """Bytes, as a short run without ddpscope and on the machine's own disk shows."""
    short = [trainer.TRAINER, *arguments, "--steps", 1, "--workdir", folder]
    done = ddpscope.start([ddpscope.DDPSCOPE, "run", "--cpu", "-o", folder.parent / "short", "--", *short], folder.parent)
    assert done.code == 0, done.stderr[-3000:]
    size, = {path.stat().st_size for path in (folder / "checkpoints").glob("*.bin")}
    return size


def save_slowly(tmp_path, name, ranks, seed, *extra, slow=True):
    """Trains with checkpoints on a disk of this pace; returns the draw and the trace."""
    caching_mount.skip_where_impossible()
    draw = trainer.Draw(seed, f"slow-checkpoint/{name}", ranks)
    draw.timeout = 60  # a slow machine adds to slow saves
    arguments = draw.arguments()
    pace = size_of_a_checkpoint(draw, arguments, tmp_path / "short_out") / SECONDS if slow else 0
    (tmp_path / "backing").mkdir()
    (tmp_path / "out").mkdir()
    with caching_mount.mounted(tmp_path / "backing", tmp_path / "out" / "checkpoints", bytes_per_second=pace):
        done = ddpscope.record([trainer.TRAINER, *arguments, "--workdir", tmp_path / "out", *extra], tmp_path / "trace",
                               tmp_path, cpu=True, timeout=240)
    assert done.code == 0, done.stderr[-3000:]
    return draw, tmp_path / "trace"


@trainer.everywhere
def test_all_wait_for_rank_0(tmp_path, ranks, seed):
    draw, trace = save_slowly(tmp_path, "rank-0", ranks, seed)
    finding = ddpscope.only_finding(trace, "slow-checkpoint")
    assert finding["ranks"] == [0] and finding["severity"] == "warning" and finding["count"] == draw.epochs
    trainer.assert_at(finding, 0, "open", trainer.place("checkpoint.cpp", "write_atomically(path, Snapshot(step, learners, {})"))
    waiting = [step for step in finding["evidence"] if step["rank"] != 0]
    assert len(waiting) == min(ranks - 1, 4) and all("its host waits for it" in step["detail"] for step in waiting)
    steps = draw.epochs * draw.steps_per_epoch
    # All that the disk took, of the file that was written while the others waited already.
    assert finding["cost"]["ms_per_step"] * steps > draw.epochs * 1000, finding["cost"]


@trainer.everywhere
def test_each_saves_its_part(tmp_path, ranks, seed):
    _, trace = save_slowly(tmp_path, "sharded", ranks, seed, "--twin", "sharded-checkpoint")
    trainer.assert_silent(trace)


@trainer.everywhere
def test_a_disk_that_is_fast(tmp_path, ranks, seed):
    _, trace = save_slowly(tmp_path, "fast", ranks, seed, slow=False)
    trainer.assert_silent(trace)
