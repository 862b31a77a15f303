"""PyTorch jobs on Gloo in which one rank ends before the others: the report's head names it, how it ended and where."""
import pathlib
import re
import uuid

import ddpscope
import pytest
from jobs import SCRIPTS, Job, run_recorded

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
SCRIPT = SCRIPTS / "one_rank_ends.py"


def drawn(seed, how, ranks, launcher, *arguments):
    rng = ddpscope.draw(seed, f"endings/{how}/{ranks}/{launcher}")
    rank = rng.randrange(ranks)
    job = Job(SCRIPT.name, ranks=ranks, launcher=launcher,
              arguments=["--how", how, "--rank", rank, "--step", rng.randrange(1, 6), *arguments])
    return rank, job


def place(text, function):
    return f"{SCRIPT.name}:{ddpscope.line_of(SCRIPT, text)} {function}"


def told_of_each(failure):
    """How each rank ended, by rank: "rank 0 exited with 1; ranks 2 and 3 were ...", parts of which may hold semicolons."""
    told = {failure["rank"]: failure["detail"]}
    for part in re.split(r"; (?=ranks? \d)", failure["others"]):
        ranks, text = re.fullmatch(r"ranks? ((?:\d+(?:, | and )?)+) (.*)", part).groups()
        told.update((int(rank), text) for rank in re.findall(r"\d+", ranks))
    return told


WAYS = {
    "raise": ["exited with 1 at ", lambda: place("# raises", "fail"), " (RuntimeError)"],
    "sys-exit": ["exited with 3"],
    "log-and-exit": ["exited with 1"],
    "os-exit": ["exited with 3 at ", lambda: place("# ends at once", "fail")],
    "abort": ["aborted (SIGABRT) at ", lambda: place("# aborts", "fail")],
    "kill": ["was ended by signal 9 (SIGKILL), after ", lambda: f"{SCRIPT.name}:"],
    "segv": ["was ended by signal 11 (SIGSEGV), after ", lambda: f"{SCRIPT.name}:"],
}
# Much like "raise" and "kill".
SELDOM = {"kill", "sys-exit", "log-and-exit", "segv", "os-exit", "abort"}


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("how", [pytest.param(how, marks=pytest.mark.long) if how in SELDOM else how for how in WAYS])
def test_the_first_failure_is_named(tmp_path, seed, how, ranks):
    rank, job = drawn(seed, how, ranks, {2: True, 4: "loop"}[ranks])
    report = ddpscope.report(run_recorded(job, tmp_path, code=None))
    failure = report["first_failure"]
    assert failure["rank"] == rank, failure
    for part in WAYS[how]:
        text = part if isinstance(part, str) else part()
        assert text in failure["detail"], failure
    assert "out-of-memory" not in failure["detail"]
    for other in set(range(ranks)) - {rank}:
        assert str(other) in failure["others"], failure


@pytest.mark.parametrize("how, ranks", [("reduce", 2), *(pytest.param(how, ranks, marks=pytest.mark.long)
                                                         for how, ranks in (("barrier", 2), ("broadcast", 2), ("reduce", 4)))])
def test_a_rank_calls_alone(tmp_path, seed, how, ranks):
    """What Gloo does depends on what meets; each rank raises, aborts on a thread of Gloo, or is ended: its place is named, and the finding
    has the line of both calls."""
    rank, job = drawn(seed, how, ranks, True)
    job.arguments[job.arguments.index("--rank") + 1] = 0  # the main process, as people write it
    report = ddpscope.report(run_recorded(job, tmp_path, code=1))
    failure = report["first_failure"]
    alone, meets = place(f"# {how} alone", "call_alone"), place("# meets", "main")
    told = told_of_each(failure)
    assert set(told) == set(range(ranks)), failure
    assert alone in told[0], failure
    for other in range(1, ranks):
        assert meets in told[other] and alone not in told[other], failure
    finding = report["findings"][0]
    assert finding["slug"] == ("skipped-barrier" if how == "barrier" else "mismatched-collective"), finding
    assert any(alone in frame for frame in ddpscope.frames(finding, 0)), finding
    assert any(meets in frame for frame in ddpscope.frames(finding, 1)), finding


@pytest.mark.long
def test_a_rank_sleeps(tmp_path, seed):
    """Who waited for it runs out of time, and the launcher ends the one that sleeps."""
    rank, job = drawn(seed, "sleep", 2, True)
    failure = ddpscope.report(run_recorded(job, tmp_path, code=1))["first_failure"]
    assert failure["rank"] == 1 - rank and place("# meets", "main") in failure["detail"], failure
    assert failure["others"].startswith(f"rank {rank} was sent a signal to end"), failure


def test_a_rank_fails_before_it_does_anything(tmp_path, seed):
    """It has only looked for a module, in vain: by its variables it is a rank, and leaves a trace for that."""
    rank, job = drawn(seed, "import", 4, True)
    trace = run_recorded(job, tmp_path, code=1)
    failure = ddpscope.report(trace)["first_failure"]
    missing = place("import no_module_of_this_name", "main")
    assert failure["rank"] == rank and failure["detail"].startswith("exited with 1 at "), failure
    assert f"{missing} (ModuleNotFoundError)" in failure["detail"], failure
    assert set(told_of_each(failure)) == set(range(4)), failure


@pytest.mark.parametrize("how", ["log", *(pytest.param(how, marks=pytest.mark.long) for how in ("never", "requeue"))])
def test_nobody_is_named_in_a_healthy_job(tmp_path, seed, how):
    _, job = drawn(seed, how, 4, "loop")
    report = ddpscope.report(run_recorded(job, tmp_path, code=75 if how == "requeue" else 0))
    assert "first_failure" not in report and report["findings"] == []


@pytest.mark.oldest  # newer launchers with a static rendezvous fail in their second attempt, recorded or not
def test_a_restart_that_succeeds(tmp_path, seed):
    _, job = drawn(seed, "raise", 2, True, "--once", tmp_path / "failed")
    command = job.command()
    at, port = command.index("--master_addr"), command[command.index("--master_port") + 1]
    # Torch 2's ranks find the keys of their first attempt where a static rendezvous keeps one store for both.
    command[at:at + 4] = ["--rdzv_backend", "c10d", "--rdzv_endpoint", f"127.0.0.1:{port}", "--max_restarts", "1"]
    done = ddpscope.record(command, tmp_path / "trace", tmp_path)
    assert done.code == 0, done.stderr[-2000:]
    report = ddpscope.report(tmp_path / "trace")
    assert report["job"]["attempt"] == 1 and "first_failure" not in report


MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
UNIFIED = pathlib.Path("/sys/fs/cgroup")


@pytest.fixture
def memory_cgroup():
    """A cgroup below our own that may use 400 MiB; gone afterwards."""
    legacy = MEMORY.is_dir()
    own = next((line.split(":", 2)[2] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()
                if line.split(":", 2)[1] == ("memory" if legacy else "")), "/")
    folder = (MEMORY if legacy else UNIFIED) / own.lstrip("/") / f"ddpscope-{uuid.uuid4().hex}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    try:
        (folder / ("memory.limit_in_bytes" if legacy else "memory.max")).write_text(str(400 << 20))
        for swap in ("memory.memsw.limit_in_bytes" if legacy else "memory.swap.max",):
            if (folder / swap).exists():
                (folder / swap).write_text(str(400 << 20) if legacy else "0")
    except OSError as error:
        folder.rmdir()
        pytest.skip(f"no memory cgroup can be made here: {error}")
    yield folder
    folder.rmdir()


@pytest.mark.parametrize("how, killed", [("memory", True), pytest.param("kill", False, marks=pytest.mark.long)])
def test_out_of_memory(tmp_path, seed, memory_cgroup, how, killed):
    """The rank that fails runs in a memory cgroup of its own; SIGKILL of somebody else is not the kernel's doing."""
    rank, job = drawn(seed, how, 2, "loop")
    words = job.command()
    inside = tmp_path / "inside.sh"
    inside.write_text(f'[ "$RANK" != {rank} ] || echo $$ > {memory_cgroup}/cgroup.procs\nexec "$@"\n')
    words[4:4] = ["sh", inside]
    done = ddpscope.record(words, tmp_path / "trace", tmp_path)
    failure = ddpscope.report(tmp_path / "trace")["first_failure"]
    assert failure["rank"] == rank and "was ended by signal 9 (SIGKILL)" in failure["detail"], failure
    said = "the kernel's out-of-memory killer ended 1 process of its memory cgroup during the run"
    assert (said in failure["detail"]) == killed and ("out-of-memory" in failure["detail"]) == killed, failure
    assert f"first failure: rank {rank}" in done.stderr
