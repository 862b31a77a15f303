"""Jobs that several launchers start on two hosts: each is one job with the right ranks, whoever starts them and how."""
import pathlib
import re
import shutil
import sys

import ddpscope
import hosts
import pytest
import remote_shell
import trainer
from several_hosts import assert_trained, ranks_by_host, train
from ports import free_port

JOBS = pathlib.Path(__file__).parents[1] / "torch" / "jobs"
GLOO = {"GLOO_SOCKET_IFNAME": "eth0"}
each_size = pytest.mark.parametrize("ranks_per_host", [1, 2, 4])


@pytest.fixture
def pair(tmp_path):
    with hosts.hosts(2, tmp_path / "hosts", skews=[hosts.Skew(), hosts.Skew(monotonic_s=300)]) as two:
        yield two


def torchrun(pair, ranks_per_host, traces, *script, restarts=0):
    """`ddpscope run -- torchrun` on each host, as one does by hand or from a job's script."""
    port = free_port()
    started = []
    for host, trace in zip(pair, traces):
        command = [sys.executable, "-m", "torch.distributed.run", "--nnodes", len(pair), "--node_rank", host.number,
                   "--master_addr", pair[0].address, "--master_port", port, "-r", "1", "-t", "1", "--monitor_interval", "0.5",
                   "--max_restarts", restarts, "--nproc_per_node", ranks_per_host, *script]
        started.append(host.start([ddpscope.DDPSCOPE, "run", "-o", trace, "--", *command], cwd="/", env=GLOO))
    return hosts.finish(started, timeout=180)


def assert_one_job(report, ranks, attempt=0):
    assert report["job"]["ranks"] == ranks
    assert report["job"]["hosts"] == ["host0", "host1"]
    assert report["job"]["attempt"] == attempt


def assert_healthy(trace, ranks_per_host):
    report = ddpscope.report(trace)
    assert_one_job(report, 2 * ranks_per_host)
    # Which processes a busy machine holds up, be they those that serve the shared folder, is no launcher's doing.
    assert [finding for finding in report["findings"] if finding["slug"] != "straggler"] == []
    assert ranks_by_host(trace) == {"host0": set(range(ranks_per_host)),
                                    "host1": set(range(ranks_per_host, 2 * ranks_per_host))}


@pytest.mark.long
@each_size
def test_torchrun_on_both_hosts(tmp_path, pair, ranks_per_host):
    trace = tmp_path / "trace"
    script = [JOBS / "prepared_once.py", pair[0].shared / "data", "--by", "RANK"]
    assert_trained(torchrun(pair, ranks_per_host, [trace, trace], *script))
    assert_healthy(trace, ranks_per_host)


@pytest.mark.long
def test_torchrun_where_one_rank_of_each_host_prepares(tmp_path, pair):
    own, both = tmp_path / "own", tmp_path / "both"
    script = [JOBS / "prepared_once.py", pair[0].local / "data", "--by", "LOCAL_RANK"]
    assert_trained(torchrun(pair, 2, [own, own], *script))
    assert ddpscope.report(own)["findings"] == []
    script[1] = pair[0].shared / "data"
    torchrun(pair, 2, [both, both], *script)
    finding = ddpscope.only_finding(both, "duplicate-checkpoint-write")
    assert finding["ranks"] == [0, 2] and "LOCAL_RANK" in finding["advice"]


def test_torchrun_where_rank_0_prepares_on_its_own_disk(tmp_path, pair):
    trace = tmp_path / "trace"
    torchrun(pair, 2, [trace, trace], JOBS / "prepared_once.py", pair[0].local / "data", "--by", "RANK")
    finding = ddpscope.only_finding(trace, "rank-mismatch")
    # The first that fails takes its neighbour with it, which may not have looked yet.
    dump = ddpscope.start([ddpscope.DDPSCOPE, "dump", trace], tmp_path).stdout
    looked = {int(rank) for rank in re.findall(r" rank (\d+) .*/sample_0\d+\.pt\".* error=ENOENT", dump)}
    assert looked and looked <= {2, 3}, looked
    assert finding["ranks"] == sorted(looked) and "sample_0" in finding["title"] and "torch.load" not in finding["title"]


def test_torchrun_restarts_on_both_hosts(tmp_path, pair):
    trace = tmp_path / "trace"
    script = [JOBS / "prepared_once.py", pair[0].shared / "data", "--fail-first"]
    assert_trained(torchrun(pair, 2, [trace, trace], *script, restarts=1))
    report = ddpscope.report(trace)
    assert_one_job(report, 4, attempt=1)
    assert report["findings"] == []


@pytest.mark.long
def test_torchrun_by_hand_again_on_both_hosts(tmp_path, pair):
    """Once more from the start, as one does after a failure: on another port."""
    trace = tmp_path / "trace"
    data = pair[0].shared / "data"
    assert any(done.code for done in torchrun(pair, 2, [trace, trace], JOBS / "prepared_once.py", data, "--fail-first"))
    assert_one_job(ddpscope.report(trace), 4)
    again = torchrun(pair, 2, [trace, trace], JOBS / "prepared_once.py", data, "--fail-first", restarts=1)
    assert_trained(again)
    with pytest.raises(AssertionError, match="2 jobs that share nothing"):
        ddpscope.report(trace)  # --max_restarts is another number
    for _ in range(2):
        assert_trained(torchrun(pair, 2, [tmp_path / "same"] * 2, JOBS / "prepared_once.py", data))
    report = ddpscope.report(tmp_path / "same")
    assert_one_job(report, 4, attempt=1)
    assert report["findings"] == []


@each_size
def test_spawned_on_each_host(tmp_path, pair, ranks_per_host):
    """No variable names a rank or the job: the ranks tell the store, and talk to each other. Host 1 starts first."""
    trace, store = tmp_path / "trace", f"tcp://{pair[0].address}:{free_port()}"
    started = []
    for host in reversed(pair):
        command = [sys.executable, JOBS / "prepared_once.py", pair[0].shared / "data", "--spawn", ranks_per_host,
                   "--node", host.number, "--nodes", 2, "--store", store]
        started.append(host.start([ddpscope.DDPSCOPE, "run", "-o", trace, "--", *command], cwd="/", env=GLOO))
    assert_trained(hosts.finish(started))
    assert_healthy(trace, ranks_per_host)


def test_traces_of_each_host_copied_together(tmp_path, pair):
    own = [tmp_path / "trace0", tmp_path / "trace1"]
    draw = trainer.Draw(1, "copied", 4)
    assert_trained(train(pair, draw, pair[0].shared / "job", own))
    together = tmp_path / "together"
    together.mkdir()
    for folder in own:
        for file in folder.iterdir():
            assert not (together / file.name).exists(), "names of two hosts' files differ"
            shutil.copy(file, together)
    assert_one_job(ddpscope.report(together), 4)
    trainer.assert_silent(together, perhaps={"unsharded-sampler", "repeated-epoch-order"})


# What a program without MPI makes of mpirun's variables, as users' scripts do.
AS_RANK = ('export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK '
           'LOCAL_WORLD_SIZE=$OMPI_COMM_WORLD_LOCAL_SIZE; exec "$@"')


@each_size
@pytest.mark.parametrize("sets_rank", [True, pytest.param(False, marks=pytest.mark.long)])
def test_mpirun(tmp_path, pair, sets_rank, ranks_per_host):
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    trace, ranks = tmp_path / "trace", 2 * ranks_per_host
    # `run` in front of each rank: mpirun hands no environment to other hosts unless -x names it.
    rank = [ddpscope.DDPSCOPE, "run", "-o", trace, "--", sys.executable, JOBS / "prepared_once.py", pair[0].shared / "data"]
    if not sets_rank:
        rank = [ddpscope.DDPSCOPE, "run", "--cpu", "-o", trace, "--", "sh", "-c",
                f'WORLD_SIZE={ranks} LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK exec "$0" "$@" --rank $OMPI_COMM_WORLD_RANK',
                trainer.TRAINER, *trainer.Draw(1, "mpirun", ranks).arguments()[2:], "--workdir", pair[0].shared / "job"]
    else:
        rank = ["sh", "-c", AS_RANK, "sh", *rank]
    with remote_shell.remote_shell(pair, tmp_path) as shell:
        command = ["mpirun", "--allow-run-as-root", "--host", f"host0:{ranks_per_host},host1:{ranks_per_host}", "-np", ranks,
                   "--bind-to", "none", "--mca", "plm_rsh_agent", shell, "--mca", "oob_tcp_if_include", "eth0",
                   "-x", "MASTER_ADDR", "-x", "MASTER_PORT", "-x", "GLOO_SOCKET_IFNAME", *rank]
        environment = {"MASTER_ADDR": pair[0].address, "MASTER_PORT": str(free_port()), **GLOO}
        done, = hosts.finish([pair[0].start(command, cwd="/", env=environment)])
    assert done.code == 0, done.stderr[-3000:]
    assert_healthy(trace, ranks_per_host)
