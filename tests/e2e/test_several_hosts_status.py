"""`ddpscope status` on a job of two hosts, asked on each of them while it runs."""
import contextlib
import re
import time

import ddpscope
import hosts
import ports
import trainer
from several_hosts import pair, sizes


@contextlib.contextmanager
def running(pair, draw, trace, *extra):
    """One `run` a rank, as under srun."""
    command = [trainer.TRAINER, *draw.arguments(), "--workdir", pair[0].shared / "job", *extra]
    job = [host.start([ddpscope.DDPSCOPE, "run", "--cpu", "-o", trace, "--", *command], env=variables)
           for host, variables in hosts.ranks(pair, draw.ranks // len(pair), ports.free_port())]
    try:
        yield job
    finally:
        hosts.kill(job)
        for process in job:
            process.communicate()


def status(host, trace):
    return hosts.finish([host.start([ddpscope.DDPSCOPE, "status", trace])])[0]


def first_stuck(host, trace):
    return first_told(host, trace, "stuck for .*", seconds=60)


def first_told(host, trace, expected, seconds):
    """What status told when its first line began as expected."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        told = status(host, trace)
        if re.match(expected, told.stdout):
            return told.stdout
        time.sleep(0.5)
    raise AssertionError(f"never told {expected}: {told}")


@sizes
def test_the_missing_rank_is_named(tmp_path, pair, ranks_per_host, seed):
    draw = trainer.Draw(seed, "stuck on two hosts", 2 * ranks_per_host)
    draw.rank = draw.rng.randrange(ranks_per_host, draw.ranks)
    draw.at, draw.timeout = draw.rng.randrange(2, draw.steps_per_epoch), 1000
    fault = ["--fault", "hung-collective/stuck", "--fault-rank", draw.rank, "--fault-at", draw.at]
    with running(pair, draw, tmp_path / "trace", *fault) as job:
        own = first_stuck(pair[1], tmp_path / "trace")
        beside = status(pair[0], tmp_path / "trace")
        assert all(rank.poll() is None for rank in job)
    assert re.search(rf"rank {draw.rank} never came: it has been inside ", own.splitlines()[0]), own
    assert re.search(rf"^  rank {draw.rank} +stuck +host1:\d+: ", own, re.MULTILINE), own
    # Seen from the other host it may still be on its way, for ten times as long.
    assert re.match(rf"(slow|stuck) for .* rank {draw.rank} never came: ", beside.stdout.splitlines()[0]), beside.stdout
    others = f"ranks? {ranks_per_host}\\b.* cannot be asked from here"
    assert re.search(others, beside.stdout), beside.stdout


@sizes
def test_on_shared_storage_all_hosts_see_what_each_records(tmp_path, pair, ranks_per_host, seed):
    """There a mapped file reaches the others when the kernel writes it back, after half a minute, unless it is told to."""
    draw = trainer.Draw(seed, "stuck, recorded on shared storage", 2 * ranks_per_host)
    draw.rank = draw.rng.randrange(ranks_per_host, draw.ranks)
    draw.at, draw.timeout = draw.rng.randrange(2, draw.steps_per_epoch), 1000
    trace = pair[0].shared / "trace"
    fault = ["--fault", "hung-collective/stuck", "--fault-rank", draw.rank, "--fault-at", draw.at]
    with running(pair, draw, trace, *fault):
        for host in pair:
            first_told(host, trace, rf"(slow|stuck) for .* rank {draw.rank} never came: ", seconds=20)


@sizes
def test_a_slow_rank_is_not_stuck(tmp_path, pair, ranks_per_host, seed):
    draw = trainer.Draw(seed, "slow on two hosts, live", 2 * ranks_per_host)
    draw.rank = draw.rng.randrange(ranks_per_host, draw.ranks)
    draw.at, draw.epochs, looks = draw.rng.randrange(2, draw.steps_per_epoch), 10, 0
    with running(pair, draw, tmp_path / "trace", "--twin", "slow-rank", "--fault-rank", draw.rank, "--fault-at", draw.at) as job:
        while any(rank.poll() is None for rank in job):
            for host in pair:
                told = status(host, tmp_path / "trace")
                assert told.code != 1, told.stdout  # 2 as long as there is no trace
                looks += told.code == 0
        assert [rank.returncode for rank in job] == [0] * draw.ranks
    assert looks > 2
