"""Jobs on MPI by the names of its functions, as Open MPI and MPICH have them: each bug at its line, and the healthy ones in silence."""
import pathlib
import re
import shutil
import subprocess

import ddpscope
import pytest

PYTHON = pathlib.Path(__file__).parent / "epochs.py"
SOURCE = pathlib.Path(__file__).parent / "jobs.c"
LAUNCH = {"openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n"], "mpich": ["mpirun.mpich", "-n"]}
COMPILE = {"openmpi": "mpicc.openmpi", "mpich": "mpicc.mpich"}
HUNG = 10  # seconds: as long as a user waits for a job that does not go on

everywhere = pytest.mark.parametrize("ranks", [2, 4])
mpis = pytest.mark.parametrize("mpi", LAUNCH)


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    for mpi, compiler in COMPILE.items():
        if shutil.which(compiler):
            subprocess.run([compiler, "-g", "-O1", "-fno-omit-frame-pointer", SOURCE, "-o", folder / mpi], check=True)
    return folder


def command(programs, mpi, ranks, *job, patience=None):
    if not (programs / mpi).exists():
        pytest.skip(f"no {COMPILE[mpi]} here")
    started = [*LAUNCH[mpi], str(ranks), programs / mpi, *job]
    return ["timeout", "--foreground", str(patience), *started] if patience else started


def line(text):
    return f"{SOURCE.name}:{ddpscope.line_of(SOURCE, text)}"


def found(programs, mpi, ranks, job, folder, slug, patience=None):
    done = ddpscope.record(command(programs, mpi, ranks, job, patience=patience), folder / "trace", folder, may_leave=True)
    assert (done.code == 0) == (patience is None), done.stderr
    return ddpscope.only_finding(folder / "trace", slug)


def test_both_are_here():
    """Where the packages are installed (cmake/install_dependencies.sh)."""
    missing = [compiler for compiler in COMPILE.values() if not shutil.which(compiler)]
    if missing:
        pytest.skip(f"not installed: {missing}")


@mpis
@everywhere
@pytest.mark.parametrize("job", ["every", "workers", "train"])
def test_healthy_jobs(tmp_path, programs, mpi, ranks, job):
    done = ddpscope.record(command(programs, mpi, ranks, job, *["threads"] * (ranks == 4)), tmp_path / "trace", tmp_path)
    assert done.code == 0, done.stderr
    report = ddpscope.report(tmp_path / "trace")
    assert report["findings"] == [] and report["job"]["ranks"] == ranks and report["job"]["dropped"] == 0
    assert not any("collectives" == row["what"] and "skipped-barrier" in row["unjudged"] for row in report["coverage"]), report["coverage"]


def calls_of_rank(trace, rank):
    """What `dump` says of the rank's calls of MPI, in their order."""
    dump = ddpscope.start([ddpscope.DDPSCOPE, "dump", trace], trace.parent).stdout
    return [row.groups() for row in re.finditer(rf" rank {rank} .*?\b(MPI_\w+|mpi_communicator)\b(.*)", dump)]


@mpis
def test_what_is_recorded(tmp_path, programs, mpi):
    assert ddpscope.record(command(programs, mpi, 2, "every"), tmp_path / "trace", tmp_path).code == 0
    calls = calls_of_rank(tmp_path / "trace", 1)
    names = {name for name, _ in calls}
    source = SOURCE.read_text()
    used = {name for name in re.findall(r"\b(MPI_\w+)\(", source.partition("static void train")[0])}
    hooked = set(re.findall(r"DDPSCOPE_CALL\(\d+, (MPI_\w+),", (SOURCE.parents[2] / "trace" / "calls.def").read_text()))
    assert used & hooked <= names | {"MPI_Send", "MPI_Recv"}, used & hooked - names
    arguments = {name: text for name, text in reversed(calls)}
    assert "count=100 " in arguments["MPI_Allreduce"] and "datatype=float64" in arguments["MPI_Allreduce"]
    assert "reduction=max" in arguments["MPI_Reduce"] and "peer=1" in arguments["MPI_Reduce"]
    assert "count=64 " in arguments["MPI_Bcast"] and "datatype=uint8" in arguments["MPI_Bcast"]
    assert "reduction=bxor" in arguments["MPI_Ireduce"] and "flags=asynchronous" in arguments["MPI_Ireduce"]


@pytest.mark.one_of(2)
@mpis
@everywhere
def test_a_barrier_that_one_rank_skips(tmp_path, programs, mpi, ranks):
    finding = found(programs, mpi, ranks, "skipped", tmp_path, "skipped-barrier", patience=HUNG)
    assert finding["ranks"] == [1] and line("static void evaluate") in finding["title"]


@mpis
@everywhere
def test_another_reduction(tmp_path, programs, mpi, ranks):
    finding = found(programs, mpi, ranks, "reduction", tmp_path, "mismatched-collective")
    assert "(max)" in finding["title"] and "(sum)" in finding["title"] and line("? MPI_MAX") in finding["title"]


@pytest.mark.one_of(2)
@mpis
@everywhere
def test_another_collective(tmp_path, programs, mpi, ranks):
    finding = found(programs, mpi, ranks, "other", tmp_path, "mismatched-collective", patience=HUNG)
    assert "barrier" in finding["title"] and "all-reduce of 1 float64 (sum)" in finding["title"]
    assert any(line("static void loss") in frame for frame in ddpscope.frames(finding, 1))
    assert any(line("static void evaluate") in frame for frame in ddpscope.frames(finding, 0))


@pytest.mark.one_of(2)
@mpis
@everywhere
@pytest.mark.parametrize("job, where", [("receive", "MPI_Recv"), ("asleep", "inside pause"), ("request", "inside pause")])
def test_a_rank_that_does_not_come(tmp_path, programs, mpi, ranks, job, where):
    finding = found(programs, mpi, ranks, job, tmp_path, "hung-collective", patience=HUNG)
    assert finding["ranks"] == [1] and "all-reduce" in finding["title"] and where in finding["title"]
    assert job != "receive" or any(line("if (rank == 1) MPI_Recv") in frame for frame in ddpscope.frames(finding, 1))


@pytest.mark.one_of(2)
@mpis
@everywhere
def test_a_rank_that_never_begins_with_mpi(tmp_path, programs, mpi, ranks):
    finding = found(programs, mpi, ranks, "absent", tmp_path, "hung-collective", patience=HUNG)
    assert finding["ranks"] == [1] and "MPI_Init" in finding["title"]


@mpis
def test_a_rank_that_keeps_the_others_waiting(tmp_path, programs, mpi):
    """Two ranks: more that ask without end have no processor each here, and are late for that."""
    finding = found(programs, mpi, 2, "straggler", tmp_path, "straggler")
    assert finding["ranks"] == [1]


@pytest.mark.one_of(2)
@mpis
@everywhere
def test_a_rank_that_saves_while_the_others_wait(tmp_path, programs, mpi, ranks):
    finding = found(programs, mpi, ranks, "checkpoints", tmp_path, "slow-checkpoint")
    assert finding["ranks"] == [0] and line("fopen(\"model.bin\"") in finding["title"]


@mpis
def test_a_rank_that_aborts(tmp_path, programs, mpi):
    done = ddpscope.record(command(programs, mpi, 2, "aborted"), tmp_path / "trace", tmp_path, may_leave=True)
    assert done.code != 0
    report = ddpscope.report(tmp_path / "trace")
    assert report["findings"] == [], report["findings"]
    assert report["failure"]["ranks"] == [1] and report["first_failure"]["rank"] == 1, report


def python(ranks, *arguments, patience=None):
    if not pathlib.Path("/usr/lib/python3/dist-packages/mpi4py").exists():
        pytest.skip("no mpi4py here")
    started = [*LAUNCH["openmpi"], ranks, "/usr/bin/python3", PYTHON, *arguments]
    return ["timeout", "--foreground", patience, *started] if patience else started


@everywhere
def test_python(tmp_path, ranks):
    """mpi4py has loaded MPI for itself alone: its functions are in no scope that the preloaded library could search."""
    done = ddpscope.record(python(ranks), tmp_path / "trace", tmp_path)
    assert done.code == 0 and f"weights {-10.0 * (ranks - 1)}" in done.stdout, done.stderr
    assert ddpscope.report(tmp_path / "trace")["findings"] == []
    assert {name for name, _ in calls_of_rank(tmp_path / "trace", 1)} >= {"MPI_Init_thread", "MPI_Allreduce", "MPI_Ibarrier", "MPI_Wait"}


@everywhere
def test_python_skips_a_barrier(tmp_path, ranks):
    ddpscope.record(python(ranks, "skip", patience=HUNG), tmp_path / "trace", tmp_path, may_leave=True)
    finding = ddpscope.only_finding(tmp_path / "trace", "skipped-barrier")
    assert finding["ranks"] == [1] and f"{PYTHON.name}:{ddpscope.line_of(PYTHON, '# before the next epoch')}" in finding["title"]


def test_a_program_without_mpi_has_none(tmp_path):
    """What looks for MPI by a name finds none where there is none, though the preload has all of the names."""
    script = "import ctypes; ctypes.CDLL(None).MPI_Init"
    done = ddpscope.record(["/usr/bin/python3", "-c", script], tmp_path / "trace", tmp_path)
    assert done.code == 1 and "undefined symbol: MPI_Init" in done.stderr
