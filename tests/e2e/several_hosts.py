"""Runs the reference trainer on several hosts, as srun does: one `ddpscope run` a rank."""
import ddpscope
import hosts
import ports
import pytest
import trainer

REMAINS = {"unsharded-sampler", "repeated-epoch-order"}  # may be left unjudged: the jobs are short

# Two hosts with so many ranks each.
sizes = pytest.mark.parametrize("ranks_per_host, seed", [(ranks, seed) for ranks in (1, 2, 4) for seed in ddpscope.SEEDS])


@pytest.fixture
def pair(tmp_path):
    with hosts.hosts(2, tmp_path / "hosts", skews=[hosts.Skew(), hosts.Skew(monotonic_s=1000)]) as two:
        yield two


def train(pair, draw, workdir, trace, *extra, more=None, environment=None):
    """How each rank ended. trace: a folder that all ranks record into, or one a host (a list).

    more(rank): further arguments of one rank. environment(rank): variables of it, instead of what the launcher sets.
    """
    arguments = [trainer.TRAINER, *draw.arguments(), "--workdir", workdir, *extra]
    ranks_per_host = draw.ranks // len(pair)
    started = []
    for rank, (host, variables) in enumerate(hosts.ranks(pair, ranks_per_host, ports.free_port(), environment)):
        folder = trace[host.number] if isinstance(trace, list) else trace
        command = [ddpscope.DDPSCOPE, "run", "--cpu", "-o", folder, "--", *arguments, *(more(rank) if more else [])]
        started.append(host.start(command, env=variables))
    return hosts.finish(started, timeout=180)


def assert_trained(ended):
    assert [done.code for done in ended] == [0] * len(ended), "\n".join(done.stderr[-1500:] for done in ended)


def ranks_by_host(trace):
    """{host: ranks}, as info tells of each process."""
    lines = ddpscope.start([ddpscope.DDPSCOPE, "info", trace], trace.parent).stdout.splitlines()
    found = {}
    for words in (line.split() for line in lines):
        if len(words) > 2 and words[1] == "rank" and words[2].isdigit():
            found.setdefault(words[0].split(":")[0], set()).add(int(words[2]))
    return found


def fault(pair, draw, workdir, trace, name, *extra):
    return train(pair, draw, workdir, trace, "--fault", name, "--fault-rank", draw.rank, "--fault-at", draw.at,
                 "--fault-delay", 1.5, *extra)
