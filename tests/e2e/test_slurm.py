"""Jobs that Slurm itself starts on two hosts, by srun: `run` in front of each rank, or of srun."""
import pathlib
import sys

import ddpscope
import hosts
import pytest
import slurm
import trainer
from several_hosts import ranks_by_host
from ports import free_port

JOB = pathlib.Path(__file__).parents[1] / "torch" / "jobs" / "prepared_once.py"
# What a program without Slurm makes of its variables, as users' scripts do.
AS_RANK = 'export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID; exec "$@"'
sizes = pytest.mark.parametrize("ranks_per_host", [1, 2, 4])


@pytest.fixture
def cluster(tmp_path):
    with hosts.hosts(2, tmp_path / "hosts", skews=[hosts.Skew(), hosts.Skew(monotonic_s=300)]) as two:
        with slurm.cluster(two, tmp_path / "slurm") as made:
            yield made


def tasks(ranks_per_host):
    return ["-N", 2, "--ntasks-per-node", ranks_per_host]


def environment(cluster):
    return {"MASTER_ADDR": cluster.nodes[0].address, "MASTER_PORT": str(free_port()), "GLOO_SOCKET_IFNAME": "eth0",
            "OMP_NUM_THREADS": "1"}


def recorded(trace):
    return [ddpscope.DDPSCOPE, "run", *(["-o", trace] if trace else []), "--"]


def as_ranks(*command):
    return ["sh", "-c", AS_RANK, "sh", *command]


def finish(cluster, job):
    done, = hosts.finish([job], timeout=180)
    assert done.code == 0, done.stderr[-2000:] + cluster.log.read_text()[-2000:]


def assert_healthy(trace, ranks_per_host, attempt=0):
    report = ddpscope.report(trace)
    assert report["findings"] == [] and report["job"]["ranks"] == 2 * ranks_per_host
    assert report["job"]["hosts"] == ["host0", "host1"] and report["job"]["attempt"] == attempt
    assert ranks_by_host(trace) == {"host0": set(range(ranks_per_host)),
                                    "host1": set(range(ranks_per_host, 2 * ranks_per_host))}


@sizes
def test_run_in_front_of_each_rank(tmp_path, cluster, ranks_per_host):
    trace = tmp_path / "trace"
    command = recorded(trace) + as_ranks(sys.executable, JOB, cluster.nodes[0].shared / "data")
    finish(cluster, cluster.srun(*tasks(ranks_per_host), *command, env=environment(cluster)))
    assert_healthy(trace, ranks_per_host)


@sizes
def test_run_in_front_of_srun(tmp_path, cluster, ranks_per_host):
    """srun hands what `run` sets to the tasks of all hosts; the trace's folder is one that they share."""
    trace = tmp_path / "trace"
    command = [cluster.program("srun"), *tasks(ranks_per_host),
               *as_ranks(sys.executable, JOB, cluster.nodes[0].shared / "data")]
    job = cluster.nodes[0].start(recorded(trace) + command, cwd="/", env={**cluster.environment, **environment(cluster)})
    finish(cluster, job)
    assert_healthy(trace, ranks_per_host)


@pytest.mark.long
def test_the_ranks_are_the_tasks_where_no_other_variable_names_them(tmp_path, cluster):
    """The folder is named by job, step and restart. The trainer is told its rank by an argument."""
    draw, folder = trainer.Draw(1, "slurm", 4), tmp_path / "folder"
    folder.mkdir()
    words = [str(word) for word in [trainer.TRAINER, *draw.arguments()[2:], "--workdir", cluster.nodes[0].shared / "job"]]
    command = [ddpscope.DDPSCOPE, "run", "--cpu", "--", "sh", "-c",
               'WORLD_SIZE=4 LOCAL_RANK=$SLURM_LOCALID exec "$0" "$@" --rank $SLURM_PROCID', *words]
    finish(cluster, cluster.srun(*tasks(2), "--chdir", folder, *command, env=environment(cluster)))
    trace, = folder.iterdir()
    assert trace.name == "ddpscope.1.0.0"
    assert_healthy(trace, 2)


@pytest.mark.long
def test_torchrun_on_each_node(tmp_path, cluster):
    trace, variables = tmp_path / "trace", environment(cluster)
    agent = 'exec "$0" -m torch.distributed.run --nnodes 2 --node_rank $SLURM_NODEID --master_addr $MASTER_ADDR ' \
            '--master_port $MASTER_PORT -r 1 -t 1 --monitor_interval 0.5 --nproc_per_node 2 "$@"'
    command = recorded(trace) + ["sh", "-c", agent, sys.executable, JOB, cluster.nodes[0].shared / "data"]
    finish(cluster, cluster.srun(*tasks(1), *command, env=variables))
    assert_healthy(trace, 2)


def test_a_second_step_of_the_job_is_a_further_attempt(tmp_path, cluster):
    trace = tmp_path / "trace"
    step = [cluster.program("srun"), *recorded(trace),
            *as_ranks(sys.executable, JOB, cluster.nodes[0].shared / "data")]
    twice = ["sh", "-c", '"$@" && MASTER_PORT=$((MASTER_PORT + 1)) "$@"', "sh", *step]
    finish(cluster, cluster.start(cluster.nodes[0], "salloc", *tasks(2), *twice, env=environment(cluster)))
    assert_healthy(trace, 2, attempt=1)


@sizes
def test_rank_0_prepares_on_its_own_disk(tmp_path, cluster, ranks_per_host):
    trace = tmp_path / "trace"
    command = recorded(trace) + as_ranks(sys.executable, JOB, cluster.nodes[0].local / "data", "--by", "RANK")
    done, = hosts.finish([cluster.srun(*tasks(ranks_per_host), *command, env=environment(cluster))], timeout=180)
    assert done.code, done.stderr[-2000:]
    finding = ddpscope.only_finding(trace, "rank-mismatch")
    assert finding["ranks"] == list(range(ranks_per_host, 2 * ranks_per_host)) and "sample_0" in finding["title"]
