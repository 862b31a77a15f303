"""Ranks that wait for each other in a circle: all of it is named, with its lines, while they hang and afterwards. What
only looks like it is left alone."""
import contextlib
import os
import re
import signal
import subprocess
import time

import ddpscope
import launch
import pytest
from test_recorded import expect_place

everywhere = pytest.mark.parametrize("ranks, seed", [(ranks, seed) for ranks in (2, 4, 8) for seed in ddpscope.SEEDS])
SOURCE = "circles.cu"


def watch(command, folder):
    """The exit code of a job, and what `ddpscope status` said of it until it said "stuck": then the user ends the job."""
    command = [ddpscope.DDPSCOPE, "run", "--cpu", "-o", folder / "trace", "--", *command]
    looks = []
    with open(folder / "log", "w") as log:
        job = subprocess.Popen([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=log,
                               stderr=log, start_new_session=True)
    try:
        while job.poll() is None and not (looks and looks[-1].code == 1):
            if any((folder / "trace").glob("*.ddps")):
                looks.append(ddpscope.start([ddpscope.DDPSCOPE, "status", folder / "trace"], cwd=folder))
            time.sleep(0.5)
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGTERM)
        return job.wait(timeout=120), looks
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def circle(kind, ranks, seed, folder):
    """The one finding of a job whose ranks wait in a circle in its last round; and the first line of its status then."""
    rounds = ddpscope.draw(seed, f"circles/{kind}/{ranks}").randrange(2, 6)
    code, looks = watch(launch.circles(ranks, kind, rounds, rounds - 1), folder)
    assert code != 0 and looks[-1].code == 1, (looks[-1], (folder / "log").read_text()[-3000:])
    finding = ddpscope.only_finding(folder / "trace", "hung-collective")
    assert finding["consequences"] == []
    return finding, looks[-1].stdout.splitlines()[0]


def expect_round(title, ranks):
    """Each rank waits for its neighbour on the right."""
    waits = re.findall(r"(?:^|: )rank (\d+) waits in the", title)
    chain = [int(rank) for rank in waits[:1] + re.findall(r"for rank (\d+)", title)]
    assert len(chain) == ranks + 1 and set(chain) == set(range(ranks)), title
    assert all(right == (left + 1) % ranks for left, right in zip(chain, chain[1:])), title


@everywhere
@pytest.mark.parametrize("kind, call", [("pairs", "if (right_first) halo(with_right)"),
                                        ("queued", "ring.wait();  // for both"),
                                        ("messages", "ncclSend(ring.out"), ("enqueued", "ncclSend(ring.out")])
def test_all_begin_with_the_neighbour_on_their_right(tmp_path, kind, call, ranks, seed):
    finding, stuck = circle(kind, ranks, seed, tmp_path)
    assert (finding["ranks"], finding["confidence"]) == (list(range(ranks)), "certain")
    for title in (finding["title"], stuck):
        expect_round(title, ranks)
        assert title.count(f"{SOURCE}:") == ranks, title
    for rank in range(ranks):
        expect_place(finding, rank, SOURCE, call)


@pytest.mark.long
@everywhere
def test_threads_take_turns_in_opposite_order(tmp_path, ranks, seed):
    finding, stuck = circle("threads", ranks, seed, tmp_path)
    assert (finding["ranks"], finding["confidence"]) == (list(range(ranks)), "likely")
    for title in (finding["title"], stuck):
        assert len(re.findall(r"waits? in the all-reduce of", title)) == 2 and f"{SOURCE}:" in title, title
        assert "the thread that is missing seems to wait for the other" in title, title
    expect_place(finding, 0, SOURCE, "ncclFloat, ncclAvg, even.communicator")
    expect_place(finding, 1, SOURCE, "ncclFloat, ncclSum, odd.communicator")


@everywhere
@pytest.mark.parametrize("kind, bad", [("pairs", False), ("queued", False), ("messages", False), ("enqueued", False), ("groups", True),
                                       ("threads", False), ("apart", True), ("streams", True)])
def test_what_goes_on(tmp_path, kind, bad, ranks, seed):
    """All orders in which the ranks come by each other, though one of them comes late to the last round."""
    rng = ddpscope.draw(seed, f"circles/{kind}/{ranks}/healthy")
    rounds = rng.randrange(1, 5)
    code, looks = watch(launch.circles(ranks, kind, rounds, rounds - 1 if bad else -1, rng.choice([0, 3])), tmp_path)
    assert code == 0, (tmp_path / "log").read_text()[-3000:]
    assert [look for look in looks if look.code == 1] == []
    report = ddpscope.report(tmp_path / "trace")
    assert (report["findings"], report["job"]["ranks"]) == ([], ranks)
