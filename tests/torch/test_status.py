"""`ddpscope status` on real PyTorch jobs whose collectives are Gloo's: by the calls on their process groups, and where threads are."""
import contextlib
import http.server
import os
import re
import signal
import threading
import time

import caching_mount
import ddpscope
import live_jobs
import pytest
from jobs import SCRIPTS, Job
from live_jobs import pid_of_rank, status

pytestmark = pytest.mark.parametrize("ranks, seed", [(ranks, seed) for ranks in (2, 4) for seed in ddpscope.SEEDS])
SCRIPT = SCRIPTS / "halting_rank.py"
BYTES_OF_SHARD = 1 << 24


def running(ranks, folder, *arguments):
    return live_jobs.running(Job(SCRIPT.name, ranks=ranks, arguments=arguments).command(), folder)


def looks(folder, job, seconds=180):
    """One status after the other, from the first that can be read on, while the job runs."""
    for _ in range(seconds):
        if job.poll() is not None:
            return
        told = status(folder) if (folder / "trace").exists() else None
        if told and told.code != 2:
            yield told
        time.sleep(1)


def expect_stuck(folder, job, rank, ranks, others=None):
    """`others`: which rank waits first cannot be said, nor whether the stopped rank had issued its part before the signal came."""
    for told in looks(folder, job):
        if told.code == 1:
            break
    else:
        raise AssertionError((folder / "log").read_text()[-3000:])
    first = told.stdout.splitlines()[0]
    first_to_wait = others or min(other for other in range(ranks) if other != rank)
    by_signal = f"|: every rank issued it, .*; rank {rank} is stopped by a signal" if others else ""
    assert re.match(rf"stuck for \S+ s: ranks? {first_to_wait}\b.* waits? for the all-reduce of .* at {SCRIPT}:"
                    rf"{ddpscope.line_of(SCRIPT, 'loss.backward()')} main(; rank {rank} never came: {by_signal})", first), told.stdout
    return told.stdout


def seconds_stuck(text):
    return float(re.match(r"stuck for (\S+) s: ", text)[1])


@pytest.mark.parametrize("way, where", [
    pytest.param("sleep", "inside clock_nanosleep", marks=pytest.mark.long), ("read", "inside socket_read"), ("stop", "stopped by a signal"),
    pytest.param("loader", "inside poll", marks=pytest.mark.long)])
def test_the_rank_that_does_not_come_is_named(tmp_path, way, where, ranks, seed):
    rng = ddpscope.draw(seed, f"status/{way}/{ranks}")
    rank, at = rng.randrange(ranks), rng.randrange(5, 40)
    arguments = ["--steps", 300000] if way == "stop" else ["--halt", way, "--rank", rank, "--at", at]
    with running(ranks, tmp_path, *arguments) as job:
        if way == "stop":
            next(told for told in looks(tmp_path, job) if "it trains" in (tmp_path / "log").read_text())
            os.kill(pid_of_rank(tmp_path, rank), signal.SIGSTOP)
        # A signal comes anywhere in a step: not each peer has sent something since, and those that have not are not named.
        others = f"[{''.join(str(other) for other in range(ranks) if other != rank)}]" if way == "stop" else None
        text = expect_stuck(tmp_path, job, rank, ranks, others)
        assert where in text.splitlines()[0], text
        waited = seconds_stuck(text)
        time.sleep(6)  # a loader's queue is asked every 5 s: that ends no stall
        # On a busy machine a look may find a thread that waits for a processor, and call it slow: it is the same stall.
        text = expect_stuck(tmp_path, job, rank, ranks, others)
        assert seconds_stuck(text) > waited + 5, text
    if way == "loader":
        worker = re.search(r"worker \d+ inside socket_read for .*", text)
        assert worker and "read_from_nobody" in worker[0], text


@pytest.mark.long
def test_a_rank_that_waits_for_its_own_thread_is_given_more_time(tmp_path, ranks, seed):
    """From outside it looks like its peers, which wait for threads of Gloo: its calls show that it is none of them."""
    rng = ddpscope.draw(seed, f"status/thread/{ranks}")
    rank, slow = rng.randrange(ranks), 0.0
    with running(ranks, tmp_path, "--halt", "thread", "--rank", rank, "--at", rng.randrange(5, 40)) as job:
        for told in looks(tmp_path, job):
            if told.code == 1:
                break
            if match := re.match(r"slow for (\S+) s: ", told.stdout):
                slow = float(match[1])
        first = told.stdout.splitlines()[0]
        assert slow > 10 and re.match(r"stuck for .*; " + f"rank {rank} never came: it waits for another thread ", first), told.stdout


def test_ranks_wait_in_different_calls(tmp_path, ranks, seed):
    rng = ddpscope.draw(seed, f"status/barrier/{ranks}")
    rank = rng.randrange(ranks)
    with running(ranks, tmp_path, "--halt", "barrier", "--rank", rank, "--at", rng.randrange(5, 40)) as job:
        for told in looks(tmp_path, job):
            if told.code == 1:
                break
        for text in ("dist.barrier()  # which no other", "loss.backward()"):
            assert f" at {SCRIPT}:{ddpscope.line_of(SCRIPT, text)} " in told.stdout.splitlines()[0], told.stdout


@pytest.mark.parametrize("way", ["compute", pytest.param("no", marks=pytest.mark.long)])
def test_a_healthy_job_is_never_stuck(tmp_path, way, ranks, seed):
    rng = ddpscope.draw(seed, f"status/healthy/{way}/{ranks}")
    said = []
    with running(ranks, tmp_path, "--halt", way, "--rank", rng.randrange(ranks), "--seconds", 6, "--steps", 150) as job:
        for told in looks(tmp_path, job):
            assert told.code == 0, told.stdout
            said.append(told.stdout.splitlines()[0])
        assert job.wait() == 0, (tmp_path / "log").read_text()[-3000:]
    assert said and not any("hung" in line for line in said)
    assert any(line.endswith("; no rank waits longer than usual") for line in said), said
    assert way == "no" or any(line.startswith("slow for ") for line in said), said
    assert status(tmp_path).stdout.startswith(f"ended: {ranks} ranks, all ended with exit code 0")


@pytest.mark.long
@pytest.mark.parametrize("way", ["read-in-pieces", pytest.param("read-mapped", marks=pytest.mark.long)])
def test_a_rank_that_reads_from_slow_storage_is_not_stuck(tmp_path, way, ranks, seed):
    """All its reads are one record, and pages of a mapped file leave none: who waits for one is inside no system call."""
    rng = ddpscope.draw(seed, f"status/slow-storage/{way}/{ranks}")
    (tmp_path / "backing").mkdir()
    (tmp_path / "backing" / "shard.bin").write_bytes(bytes(BYTES_OF_SHARD))
    with caching_mount.mounted(tmp_path / "backing", tmp_path / "data", bytes_per_second=BYTES_OF_SHARD / 8) as data:
        with running(ranks, tmp_path, "--halt", way, "--file", data / "shard.bin", "--rank", rng.randrange(ranks),
                     "--at", rng.randrange(5, 40)) as job:
            said = []
            for told in looks(tmp_path, job):
                assert told.code == 0, told.stdout
                said.append(told.stdout.splitlines()[0])
            assert job.wait() == 0, (tmp_path / "log").read_text()[-3000:]
    assert any(line.startswith("slow for ") for line in said), said


@contextlib.contextmanager
def slow_server(seconds):
    """The URL of a server, no process of the job, that takes that long to answer."""
    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            time.sleep(seconds)
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"token")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/token"
        server.shutdown()


@pytest.mark.long
@pytest.mark.parametrize("way", ["ask", "ask-with-a-limit"])
def test_a_rank_that_asks_a_slow_server_is_not_stuck(tmp_path, way, ranks, seed):
    rng = ddpscope.draw(seed, f"status/server/{way}/{ranks}")
    said = []
    with slow_server(8) as url, running(ranks, tmp_path, "--halt", way, "--file", url, "--rank", rng.randrange(ranks),
                                        "--at", rng.randrange(5, 40)) as job:
        for told in looks(tmp_path, job):
            assert told.code == 0, told.stdout
            said.append(told.stdout.splitlines()[0])
        assert job.wait() == 0, (tmp_path / "log").read_text()[-3000:]
    assert any(line.startswith("slow for ") for line in said), said


def test_ranks_whose_launcher_is_gone(tmp_path, ranks, seed):
    """The kernel may end a launcher and leave its ranks: they run on, and hang as before. (Those of torchrun lose a store with
    it, and a thread of theirs looks for it without a pause.)"""
    rng = ddpscope.draw(seed, f"status/launcher/{ranks}")
    rank, at = rng.randrange(ranks), rng.randrange(5, 40)
    job = Job(SCRIPT.name, ranks=ranks, launcher="loop", arguments=["--halt", "read", "--rank", rank, "--at", at])
    with live_jobs.running(job.command(), tmp_path) as job:
        expect_stuck(tmp_path, job, rank, ranks)
        left = [pid_of_rank(tmp_path, other) for other in range(ranks)]
        launcher = ddpscope.descendants(job.pid)[0]  # the loop, which `run` has started
        os.kill(launcher, signal.SIGKILL)
        try:
            assert job.wait(60) == 128 + signal.SIGKILL
            assert f"{ranks} of its processes still run" in (tmp_path / "log").read_text()
            told = status(tmp_path)
            assert told.code == 1 and f"rank {rank} never came: " in told.stdout, told.stdout
            until = time.monotonic() + 60  # as above: on a busy machine a look may find a thread that waits for a processor
            while not (findings := ddpscope.report(tmp_path / "trace")["findings"]):
                assert time.monotonic() < until, "report never finds what status finds"
            (finding,) = findings
            assert (finding["slug"], finding["ranks"]) == ("hung-collective", [rank])
        finally:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        until = time.monotonic() + 20  # the kernel takes its time
        while not (told := status(tmp_path)).stdout.startswith("ended: "):
            assert time.monotonic() < until, told.stdout
        assert told.code == 0
