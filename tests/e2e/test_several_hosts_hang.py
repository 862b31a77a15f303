"""A rank of another host never comes to a collective; and jobs of two hosts that only look like that."""
import contextlib
import os
import pathlib
import shutil
import signal
import time

import ddpscope
import hosts
import ports
import pytest
import trainer
from several_hosts import REMAINS, assert_trained, fault, pair, sizes, train


def draw_of(seed, name, ranks_per_host):
    draw = trainer.Draw(seed, name, 2 * ranks_per_host)
    draw.rank = draw.rng.randrange(ranks_per_host, draw.ranks)
    draw.at = draw.rng.randrange(2, 2 * draw.steps_per_epoch)
    return draw


def details(finding, ranks):
    return " ".join(step["detail"] for step in finding["evidence"] if step["rank"] in ranks)


@sizes
@pytest.mark.parametrize("variant, sign", [("exit", "exited with 1 at main.cpp:"), ("stuck", ""), ("killed", "")])
def test_a_rank_of_the_second_host_is_absent(tmp_path, pair, variant, sign, ranks_per_host, seed):
    draw = draw_of(seed, f"hung on two hosts {variant}", ranks_per_host)
    ended = fault(pair, draw, pair[0].shared / "job", tmp_path / "trace", f"hung-collective/{variant}")
    assert all(done.code for done in ended), "no rank trains to the end"
    finding = ddpscope.only_finding(tmp_path / "trace", "hung-collective")
    assert finding["ranks"] == [draw.rank] and finding["severity"] == "error"
    assert sign in finding["title"] + details(finding, [draw.rank])
    processes = {step["rank"]: step["process"].split(":")[0] for step in finding["evidence"]}
    assert processes[draw.rank] == "host1" and len(processes) > 1, "somebody is shown waiting"
    assert all(host == f"host{rank * 2 // draw.ranks}" for rank, host in processes.items()), processes


@sizes
def test_a_slow_rank_of_the_second_host(tmp_path, pair, ranks_per_host, seed):
    draw = draw_of(seed, "slow on two hosts", ranks_per_host)
    assert_trained(train(pair, draw, pair[0].shared / "job", tmp_path / "trace", "--twin", "slow-rank", "--fault-rank",
                         draw.rank))
    trainer.assert_silent(tmp_path / "trace", perhaps=REMAINS)


@sizes
def test_the_main_process_broadcasts_alone(tmp_path, pair, ranks_per_host, seed):
    """A region for rank 0 only, with a collective in it: the others are in their next one."""
    draw = draw_of(seed, "main only on two hosts", ranks_per_host)
    ended = fault(pair, draw, pair[0].shared / "job", tmp_path / "trace", "mismatched-collective/main-only")
    assert all(done.code for done in ended), "no rank trains to the end"
    finding = ddpscope.only_finding(tmp_path / "trace", "mismatched-collective")
    assert 0 in finding["ranks"] if draw.ranks == 2 else finding["ranks"] == [0]
    assert {step["process"].split(":")[0] for step in finding["evidence"]} == {"host0", "host1"}


CIRCLES = ddpscope.BUILD / "bin" / "programs" / "circles"
PATIENCE = 8  # seconds after which a job that hangs is ended, as by whoever started it


def go_round(pair, ranks_per_host, trace, rounds, bad):
    """The exit codes of ranks that talk with their neighbours, on both hosts; in the round `bad` (-1: none) all begin on the right."""
    started = [host.start([ddpscope.DDPSCOPE, "run", "--cpu", "-o", trace, "--", "timeout", "--foreground", PATIENCE, CIRCLES,
                           pair[0].shared / "id", "pairs", rounds, bad], env=variables)
               for host, variables in hosts.ranks(pair, ranks_per_host, ports.free_port())]
    return [done.code for done in hosts.finish(started)]


@sizes
def test_a_circle_over_both_hosts(tmp_path, pair, ranks_per_host, seed):
    rounds = ddpscope.draw(seed, f"circle/{ranks_per_host}").randrange(2, 6)
    assert all(go_round(pair, ranks_per_host, tmp_path / "trace", rounds, rounds - 1))
    finding = ddpscope.only_finding(tmp_path / "trace", "hung-collective")
    ranks = 2 * ranks_per_host
    assert finding["ranks"] == list(range(ranks)) and finding["title"].count("circles.cu:") == ranks, finding["title"]
    assert {step["process"].split(":")[0] for step in finding["evidence"]} == {"host0", "host1"}


@sizes
def test_neighbours_on_both_hosts_that_take_turns(tmp_path, pair, ranks_per_host, seed):
    rounds = ddpscope.draw(seed, f"turns/{ranks_per_host}").randrange(2, 6)
    assert not any(go_round(pair, ranks_per_host, tmp_path / "trace", rounds, -1))
    report = ddpscope.report(tmp_path / "trace")
    assert (report["findings"], report["job"]["ranks"]) == ([], 2 * ranks_per_host)


def cut_power(host):
    """All processes of a host but the one that holds its namespaces end at once; nobody sees it, on this host or others."""
    # First the cable: who is without power closes no connection.
    hosts.ip(host.inside, "link", "set", "eth0", "down")
    namespace = os.readlink(f"/proc/{host.inside}/ns/pid")
    # The first process of a host's namespace and what it keeps mounted stay: they stand for the machine, not for the job.
    kept = {host.inside, *children(host.inside)}
    return kill_at_once([pid for pid in processes_of(namespace) if pid not in kept])


def kill_ranks(host):
    """All ranks of a host end at once, and what they made; each one's `run` sees it, and connections are closed."""
    namespace = os.readlink(f"/proc/{host.inside}/ns/pid")
    return kill_at_once([pid for pid in processes_of(namespace) if program_of(pid) == trainer.TRAINER.name])


def kill_at_once(doomed):
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in doomed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
    return doomed


def program_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(os.readlink(f"/proc/{pid}/exe")).name


def children(pid):
    return {int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def processes_of(namespace):
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and os.readlink(entry / "ns/pid") == namespace:
                yield int(entry.name)


def train_until_lost(pair, draw, trace, doomed, lose=cut_power):
    """Hosts in `doomed` are lost (`lose`) while all train; returns how the ranks of the others ended. trace: a folder a host."""
    draw.epochs = 500
    started = []
    for host, variables in hosts.ranks(pair, draw.ranks // 2, ports.free_port()):
        command = [ddpscope.DDPSCOPE, "run", "--cpu", "-o", trace[host.number], "--", trainer.TRAINER, *draw.arguments(),
                   "--workdir", host.shared / "job"]
        started.append((host, host.start(command, env=variables)))
    try:
        checkpoints = pair[0].seen_from_outside(pair[0].shared) / "job/checkpoints"
        deadline = time.monotonic() + 60
        while not list(checkpoints.glob("step_*")):
            assert time.monotonic() < deadline, "no checkpoint in 60 s"
            time.sleep(0.02)
        time.sleep(draw.rng.uniform(0, 0.5))
        for host in doomed:
            assert len(lose(host)) >= (2 if lose is cut_power else 1) * (draw.ranks // 2), "each rank, and its `run`"
        ended = hosts.finish([process for host, process in started if host not in doomed])
        if lose is kill_ranks:
            assert {done.code for done in hosts.finish([process for host, process in started if host in doomed])} == {137}
        return ended
    finally:
        hosts.kill([process for _, process in started])
        for _, process in started:
            process.communicate()


def together(folder, own):
    """The folders of both hosts, copied into one afterwards."""
    whole = folder / "copied together"
    whole.mkdir()
    for trace in own:
        for file in trace.iterdir():
            shutil.copy2(file, whole)
    return whole


@sizes
def test_all_hosts_lose_power(tmp_path, pair, ranks_per_host, seed):
    """Every rank's trace stops, and no `run` saw it: nobody had waited for anybody."""
    draw = draw_of(seed, "no power at all", ranks_per_host)
    own = [tmp_path / "trace0", tmp_path / "trace1"]
    assert train_until_lost(pair, draw, own, pair) == []
    report = ddpscope.report(together(tmp_path, own))
    assert report["findings"] == [] and report["job"]["ranks"] == draw.ranks


@sizes
def test_the_second_host_loses_power(tmp_path, pair, ranks_per_host, seed):
    """The first one's ranks wait until they give up. A rank of the second may have issued the call before, or not."""
    draw = draw_of(seed, "no power", ranks_per_host)
    lost = set(range(ranks_per_host, draw.ranks))
    own = [tmp_path / "trace0", tmp_path / "trace1"]
    ended = train_until_lost(pair, draw, own, [pair[1]])
    assert all(done.code for done in ended), "who is left gives up"
    finding = ddpscope.only_finding(together(tmp_path, own), "hung-collective")
    assert set(finding["ranks"]) == lost, finding
    told = finding["title"] + details(finding, lost)
    assert not any(word in told for word in ["exit code", "exited", "SIGKILL", "signal"]), "how it ended was not seen"
    assert any(step["process"].startswith("host1:") for step in finding["evidence"])
    # Without that host's files nobody knows who is to blame.
    alone = ddpscope.only_finding(own[0], "hung-collective")
    assert alone["confidence"] == "likely" and "left no trace" in alone["title"]


@sizes
def test_all_ranks_of_the_second_host_are_killed(tmp_path, pair, ranks_per_host, seed):
    """The first one's ranks are told at once, wherever they are: in this step, in the one before, on their way."""
    draw = draw_of(seed, "killed together", ranks_per_host)
    lost = list(range(ranks_per_host, draw.ranks))
    own = [tmp_path / "trace0", tmp_path / "trace1"]
    ended = train_until_lost(pair, draw, own, [pair[1]], kill_ranks)
    assert all(done.code for done in ended), "who is left gives up"
    report = ddpscope.report(together(tmp_path, own))
    # Those that were killed had all come to the step, or nobody else had: so does a job look whose ranks are killed in turn.
    assert [finding["slug"] for finding in report["findings"]] in ([], ["hung-collective"]), report["findings"]
    for finding in report["findings"]:
        assert finding["ranks"] == lost and "SIGKILL" in finding["title"], finding
