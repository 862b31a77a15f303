"""Healthy jobs that end, or are recorded, badly: nobody is accused, and what is missing is said."""
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import ddpscope
import live_jobs
import pytest
import trainer
from ports import free_port

# In a mount namespace of its own; a user who is not root needs a user namespace for that.
OWN_MOUNTS = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
needs_mounts = pytest.mark.skipif(
    subprocess.run([*OWN_MOUNTS, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode != 0,
    reason="a small file system cannot be mounted here")

LOSSES = ("kept_records_lost", "bulk_records_lost", "items_lost", "chunk_open_failed")


def assert_nobody_accused(report):
    assert report["findings"] == [], json.dumps(report["findings"], indent=1)[:4000]


def rank_processes(draw, folder, work):
    """The shell script that starts the ranks one by one, without a launcher that ends all when one ends; and its variables."""
    words = " ".join(str(word) for word in [trainer.TRAINER, *draw.arguments()[2:], "--workdir", work])
    script = f"for rank in $(seq 0 {draw.ranks - 1}); do RANK=$rank LOCAL_RANK=$rank sh start {words} & done; wait"
    (folder / "start").write_text('eval "$BEFORE"; exec "$@"\n')
    return script, {"WORLD_SIZE": str(draw.ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}


@needs_mounts
@trainer.everywhere
def test_full_disk_while_recording(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "full", ranks)
    kib = draw.rng.randrange(12, 100 * ranks)
    command = [ddpscope.DDPSCOPE, "run", "--cpu", "-o", "small/trace", "--", trainer.TRAINER, *draw.arguments(),
               "--workdir", "out"]
    (tmp_path / "small").mkdir()
    script = f"""mount -t tmpfs -o size={kib}k tmpfs small && "$@"; code=$?
    {ddpscope.DDPSCOPE} report small/trace --format json -o report.json; echo "judged: $?" >&2
    {ddpscope.DDPSCOPE} report small/trace -o small/report; echo "report: $?" >&2
    ls -A small >&2
    exit $code"""
    done = ddpscope.start([*OWN_MOUNTS, "sh", "-c", script, "sh", *command], tmp_path)
    assert done.code == 0, done.stderr
    assert "no room for a trace in the folder" in done.stderr and "recording is not complete" in done.stderr
    # With room for one rank only nothing can be judged: then an error says so, after the report.
    nothing_judged = "error: small/trace: nothing could be judged" in done.stderr
    assert f"judged: {2 if nothing_judged else 0}\n" in done.stderr, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert_nobody_accused(report)
    assert report["job"]["dropped"] > 0
    assert any(entry["what"].startswith(LOSSES) for entry in report["coverage"]), report["coverage"]
    # The report itself: an error, and no half of it.
    assert done.stderr.endswith("report: 2\ntrace\n"), done.stderr
    assert "error: small/report: cannot write the report: No space left on device" in done.stderr


@trainer.everywhere
def test_one_rank_without_room(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "one-full", ranks)
    draw.rank = draw.rng.randrange(1, ranks)  # rank 0 writes checkpoints, which the limit would cut off too
    blocks = draw.rng.randrange(10, 100)
    script, environment = rank_processes(draw, tmp_path, tmp_path / "out")
    environment["BEFORE"] = f'[ "$RANK" != {draw.rank} ] || ulimit -f {blocks}'
    done = ddpscope.record(["sh", "-c", script], tmp_path / "trace", tmp_path, cpu=True, env=environment)
    assert done.code == 0 and "recording is not complete" in done.stderr, done.stderr
    assert_nobody_accused(ddpscope.report(tmp_path / "trace"))


def wait_for_ranks(trace, ranks):
    """The process of each rank, once all have a trace."""
    while True:
        found = {}
        for pid in sorted(int(file.name.split(".")[-3]) for file in trace.glob("*.ddps")):
            try:
                environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            for variable in environment:
                if variable.startswith(b"RANK="):
                    found.setdefault(int(variable[5:]), pid)  # a worker inherits the variable, and starts later
        if len(found) == ranks:
            return found
        time.sleep(0.05)


@trainer.everywhere
def test_one_rank_killed_at_any_moment(tmp_path, ranks, seed):
    """The rank that was killed may be named as the one that never came; nobody else, and nothing else."""
    draw = trainer.Draw(seed, "one-killed", ranks)
    draw.epochs = 50
    script, environment = rank_processes(draw, tmp_path, tmp_path / "out")
    command = [ddpscope.DDPSCOPE, "run", "--cpu", "-o", tmp_path / "trace", "--", "sh", "-c", script]
    job = subprocess.Popen([str(word) for word in command], cwd=tmp_path, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                           env={**os.environ, **environment, "BEFORE": ""})
    try:
        processes = wait_for_ranks(tmp_path / "trace", ranks)
        time.sleep(draw.rng.uniform(0, 1.5))
        os.kill(processes[draw.rank], signal.SIGKILL)
        assert job.wait(timeout=120) == 0, "the shell that waits for the ranks"
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    done = ddpscope.start([ddpscope.DDPSCOPE, "report", "trace", "--format", "json"], tmp_path)
    too_early = done.code == 2 and "neither collectives nor file accesses" in done.stderr
    assert done.code in (0, 1) or too_early, done.stderr
    for finding in json.loads(done.stdout)["findings"]:
        assert (finding["slug"], finding["ranks"]) == ("hung-collective", [draw.rank]), finding


def test_files_cut_off(tmp_path):
    """Each rank's file at lengths drawn at random, and each one missing."""
    rng = random.Random(1)
    draw = trainer.Draw(1, "cut", 4)
    trace = trainer.train(draw, tmp_path)
    for file in sorted(trace.glob("*.ddps"))[:draw.ranks]:
        content = file.read_bytes()
        for length in [*rng.sample(range(len(content)), 5), *(4096 * rng.randrange(len(content) // 4096) for _ in range(3))]:
            file.write_bytes(content[:length])
            done = ddpscope.start([ddpscope.DDPSCOPE, "report", trace, "--format", "json"], tmp_path)
            assert done.code == 2 and f"error: {file}" in done.stderr, (length, done.stderr)
            assert_nobody_accused(json.loads(done.stdout))
        file.unlink()
        report = ddpscope.report(trace)
        assert_nobody_accused(report)
        file.write_bytes(content)


def test_the_same_job_again_into_the_same_folder(tmp_path):
    draw = trainer.Draw(1, "again", 2)
    script, environment = rank_processes(draw, tmp_path, "out")
    for _ in range(2):
        done = ddpscope.record(["sh", "-c", script], tmp_path / "trace", tmp_path, cpu=True, env=environment)
        assert done.code == 0, done.stderr
    report = ddpscope.report(tmp_path / "trace")
    assert report["job"]["attempt"] == 1 and report["job"]["ranks"] == 2
    assert_nobody_accused(report)


AS_RANK = 'RANK=$OMPI_COMM_WORLD_RANK LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE exec "$@"'


def hangs(folder):
    """For some seconds, as `ddpscope status` says; not yet that it is stuck, which takes longer where a device computes."""
    return (folder / "trace").exists() and re.match(r"(slow|stuck) for ([3-9]|\d\d+)\.\d s", live_jobs.status(folder).stdout)


def processes_of(folder):
    """Those of the trainer, whose command line names the folder. mpirun gives ranks groups of their own."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"--workdir\0{folder}/" in (process / "cmdline").read_text() and b"State:\tZ" not in (process / "status").read_bytes():
                found.append(int(process.name))
    return found


@pytest.mark.skipif(not shutil.which("mpirun"), reason="Open MPI is not installed")
@trainer.everywhere
def test_timeout_ends_mpirun(tmp_path, ranks, seed):
    """As in docs/ci.md. mpirun gets SIGTERM from `timeout` twice or three times: it may leave at once, and then its ranks, which
    hang, outlive it."""
    draw = trainer.Draw(seed, "mpirun-timeout", ranks)
    draw.timeout = 1000
    command = ["timeout", "-k", 60, 900, ddpscope.DDPSCOPE, "run", "--cpu", "-o", "trace", "--", "mpirun", "--allow-run-as-root",
               "--oversubscribe", "-np", ranks, "sh", "-c", AS_RANK, "sh", trainer.TRAINER, *draw.arguments()[2:], "--workdir",
               tmp_path / "out", "--fault", "skipped-barrier", "--fault-rank", draw.rank]
    environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    job = subprocess.Popen([str(word) for word in command], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True, start_new_session=True, env={**os.environ, **environment})
    try:
        live_jobs.wait_for(lambda: hangs(tmp_path), job, seconds=120)
        job.terminate()  # what `timeout` sends on is what it sends when the time is up
        stderr = job.communicate(timeout=90)[1]
        assert "found: 1 error" in stderr, stderr[-3000:]
        assert ("nobody waits for them" in stderr) == bool(processes_of(tmp_path)), stderr[-3000:]
        finding = ddpscope.only_finding(tmp_path / "trace", "skipped-barrier")
    finally:
        for pid in [*processes_of(tmp_path), job.pid] if job.poll() is None else processes_of(tmp_path):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert finding["ranks"] == [draw.rank]
    assert ddpscope.only_finding(tmp_path / "trace", "skipped-barrier")["ranks"] == [draw.rank], "once all are gone, too"


def test_a_second_signal_after_the_end(tmp_path):
    """timeout(1) sends its signal to the command and to the group: the second one may find that the job is over."""
    late = "while kill -0 $1; do sleep 0.01; done; kill -TERM $2; sleep 0.01; kill -TERM $2; true > sent"
    job = f"sh -c '{late}' late $$ $PPID & trap 'exit 7' TERM; : > begun; while :; do sleep 0.02; done"
    run = subprocess.Popen([ddpscope.DDPSCOPE, "run", "-o", tmp_path / "trace", "--", "sh", "-c", job], cwd=tmp_path,
                           stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    run.terminate()
    stderr = run.communicate(timeout=60)[1]
    assert run.returncode == 7, stderr
    assert "the job ended with exit code 7" in stderr and "tells more" in stderr
    assert (tmp_path / "sent").exists(), "the second signal came too late to prove anything"


def test_ended_while_the_job_ends(tmp_path):
    """Two more signals find `run` stopped, with a job that is over when it goes on: it passes on the first, sees the
    job's end, and the second one ends it, but not before it has left its own file."""
    waker = "until grep -q State:.Z /proc/$1/status; do sleep 0.01; done; kill -CONT $2"
    trap = "kill -STOP $PPID; kill -INT $PPID; kill -QUIT $PPID; exit 7"
    job = f"setsid sh -c '{waker}' waker $$ $PPID & trap '{trap}' TERM; : > begun; while :; do sleep 0.02; done"
    run = subprocess.Popen([ddpscope.DDPSCOPE, "run", "-o", tmp_path / "trace", "--", "sh", "-c", job], cwd=tmp_path,
                           stderr=subprocess.PIPE, text=True, preexec_fn=without_core_dumps)
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    run.terminate()
    stderr = run.communicate(timeout=60)[1]
    assert run.returncode == -signal.SIGQUIT, stderr
    assert any(f".{run.pid}." in trace.name for trace in (tmp_path / "trace").iterdir()), "no file of run's own"


def without_core_dumps():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
