"""`ddpscope status` on traces held as text, of processes that were not seen to end: what it says of each kind of stall."""
import re

import pytest
from command_line import assert_cannot_run, compile_trace, ddpscope

STEP = 'ncclAllReduce communicator=1 count=1000 datatype=f32 stream=0x7 buffer=0x200 stack="ddp.py:5 reduce"'
WAIT = "cudaStreamSynchronize stream=0x7"


def status(text, tmp_path):
    return ddpscope("status", compile_trace(text, tmp_path / "trace"))


def ranks(world, calls, thread=1):
    """Two rounds, then each rank's own `calls`."""
    text = ""
    for rank in range(world):
        by = f"r{rank}" if thread == 1 else f"r{rank}/{thread}"
        text += f"process r{rank} rank={rank} world={world} until=2\n"
        text += f"r{rank} 0.1 +0.05 ncclCommInitRank communicator=1 id=0xabc rank={rank} size={world} device={rank}\n"
        for begin in (1.0, 1.1):
            text += f"{by} {begin:.3f} +0.001 {STEP}\n{by} {begin + 0.002:.3f} +0.010 {WAIT}\n"
        text += "".join(f"{line}\n" for line in calls(rank, by))
    return text


def waits(by):
    return [f"{by} 1.400 +0.001 {STEP}", f"{by} 1.402 inside {WAIT}"]


def test_the_missing_rank_is_inside_a_call(tmp_path):
    done = status(ranks(4, lambda rank, by: [f"{by} 1.3 inside recv inode=77 fd=9"] if rank == 2 else waits(by)), tmp_path)
    assert done.returncode == 1, done.stdout
    first = done.stdout.splitlines()[0]
    assert first.startswith("stuck for ") and "ranks 0, 1 and 3 wait for the all-reduce of 1000 float32" in first
    assert "ddp.py:5 reduce; rank 2 never came: it has been inside recv since 1.300 s" in first


def test_the_thread_that_issues_the_calls_is_another_one(tmp_path):
    """The main thread goes on all the while."""
    def calls(rank, by):
        own = [f"{by} 1.3 inside recv inode=77 fd=9"] if rank == 1 else waits(by)
        return [*own, f'r{rank} 1.95 +0.001 open path="/data/part-{rank}" fd=5 flags=rdonly']
    done = status(ranks(2, calls, thread=2), tmp_path)
    assert done.returncode == 1, done.stdout
    assert "rank 1 never came: it has been inside recv since 1.300 s" in done.stdout.splitlines()[0]
    assert re.search(r"^  rank 1 +stuck +a:1001: inside recv for", done.stdout, re.MULTILINE), done.stdout


def test_a_communicator_that_the_main_thread_never_used(tmp_path):
    """The main threads' communicator is quiet: all its calls are done. Another thread's is not."""
    def calls(rank, by):
        own = 'ncclAllReduce communicator=2 count=64 datatype=f32 stream=0x9 buffer=0x300 stack="ema.py:9 publish"'
        lines = [f"r{rank} 0.2 +0.05 ncclCommInitRank communicator=2 id=0xdef rank={rank} size=2 device={rank}",
                 f"r{rank}/2 1.2 +0.001 {own}", f"r{rank}/2 1.202 +0.01 cudaStreamSynchronize stream=0x9"]
        if rank == 0:
            return [*lines, f"r0/2 1.5 +0.001 {own}", "r0/2 1.502 inside cudaStreamSynchronize stream=0x9"]
        return [*lines, 'r1/2 1.4 inside recv inode=5 fd=3 stack="ema.py:30 fetch"']
    done = status(ranks(2, calls), tmp_path)
    assert done.returncode == 1, done.stdout
    first = done.stdout.splitlines()[0]
    assert "rank 0 waits for the all-reduce of 64 float32 (sum) at ema.py:9 publish; rank 1 never came: it has been inside recv" in first


def test_a_worker_of_the_missing_rank(tmp_path):
    text = ranks(2, lambda rank, by: ["r1 1.3 inside recv inode=77 fd=9"] if rank == 1 else waits(by))
    text += 'process w parent=r1 until=2\nw 1.25 inside socket_read inode=99 fd=7 stack="loader.py:12 fetch"\n'
    done = status(text, tmp_path)
    assert done.returncode == 1, done.stdout
    assert re.search(r"worker \d+ inside socket_read for .* at loader.py:12 fetch", done.stdout), done.stdout


def test_several_stalls_at_once(tmp_path):
    """Two pairs of ranks, each of which waits for one of its own."""
    text = ""
    for rank in range(4):
        pair, place = divmod(rank, 2)
        text += f"process r{rank} rank={rank} world=4 until=2\n"
        text += f"r{rank} 0.1 +0.05 ncclCommInitRank communicator=1 id={100 + pair} rank={place} size=2 device={rank}\n"
        text += f"r{rank} 0.2 +0.05 ncclCommInitRank communicator=2 id=0xabc rank={rank} size=4 device={rank}\n"
        text += f"r{rank} 1.0 +0.001 {STEP}\nr{rank} 1.002 +0.010 {WAIT}\n"
        text += f"r{rank} 1.3 inside recv inode=77 fd=9\n" if place else "".join(f"{line}\n" for line in waits(f"r{rank}"))
    done = status(text, tmp_path)
    assert done.returncode == 1, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].endswith("(and 1 more)") and lines[1].startswith("  stuck for "), done.stdout
    named = {re.search(r"rank (\d) never came", line)[1] for line in lines[:2]}
    assert named == {"1", "3"}, done.stdout


def test_a_rank_that_only_asks(tmp_path):
    """As PyTorch's watchdog does: no call blocks, so nothing is judged. Asking between other calls is ordinary."""
    def calls(rank, by):
        lines = [f"{by} 1.400 +0.001 {STEP}", f"{by} 1.402 +0.0001 cudaEventRecord event=0x70 stream=0x7"] if rank == 0 else []
        asks = range(100 if rank == 0 else 2)
        return [*lines, *(f"{by} {1.41 + i * 0.1:.3f} +0.001 cudaEventQuery event=0x70 result=600" for i in asks)]
    done = status(ranks(2, calls), tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("running: 2 ranks"), done.stdout
    assert "not judged: rank 0 has only called cudaEventQuery for 9." in done.stdout.splitlines()[0], done.stdout
    assert "rank 1 has only" not in done.stdout


def test_all_came_and_none_waits(tmp_path):
    done = status(ranks(2, lambda rank, by: []), tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("running: 2 ranks"), done.stdout


def test_a_job_that_has_ended(tmp_path):
    done = status(ranks(2, lambda rank, by: [f"{by} 1.9 inside exit status={rank}"]), tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("ended: 2 ranks, 1 of them did not end with exit code 0"), done.stdout


@pytest.mark.parametrize("options", [[], ["--follow"]])
def test_a_trace_that_is_not_there_yet(tmp_path, options):
    result = ddpscope("status", tmp_path / "later", *options)
    assert_cannot_run(result, "later")


def test_a_file_that_is_damaged(tmp_path):
    """What is left of it is told; that the rank did not come is not said of one whose calls are lost."""
    trace = compile_trace(ranks(2, lambda rank, by: waits(by)), tmp_path / "trace")
    victim = sorted(trace.glob("*.ddps"))[0]
    content = victim.read_bytes()
    chunks = [page for page in range(4096, len(content), 4096) if content[page:page + 4] == b"CHNK"]
    assert len(chunks) > 1
    for page in chunks:
        broken = bytearray(content)
        broken[page:page + 64] = b"\xff" * 64
        victim.write_bytes(broken)
        done = ddpscope("status", trace)
        assert done.returncode in (0, 1), done.stderr
        assert "never came" not in done.stdout, f"page {page}: {done.stdout}"
        assert "every rank issued it" not in done.stdout, f"page {page}: {done.stdout}"
        assert "unreadable bytes at offset" in done.stderr, f"page {page}: {done.stderr}"


def test_a_file_that_is_cut_off(tmp_path):
    trace = compile_trace(ranks(2, lambda rank, by: waits(by)), tmp_path / "trace")
    victim = sorted(trace.glob("*.ddps"))[0]
    whole = victim.read_bytes()
    for length in (0, 100, 4096, 5000, len(whole) // 2, len(whole) - 1):
        victim.write_bytes(whole[:length])
        done = ddpscope("status", trace)
        assert done.returncode in (0, 1, 2) and "Traceback" not in done.stderr
        assert "never came" not in done.stdout, f"{length} bytes: {done.stdout}"
