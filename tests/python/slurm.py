"""Slurm on the hosts of hosts.py: its controller on the first, its node daemon on each, and srun.

Slurm is Debian's, unpacked by cmake/install_dependencies.sh. Authentication is switched off (auth/none), nodes claim more
processors than there are, and processes are told apart by their parents, not by cgroups; all else is as on a cluster.
All daemons end with the hosts.
"""
import contextlib
import pathlib
import subprocess
import time

import hosts
import pytest

ROOT = pathlib.Path(__file__).parents[2] / ".venv" / "slurm" / "usr"
PLUGINS = ROOT / "lib" / "x86_64-linux-gnu" / "slurm-wlm"
PROCESSORS = 8  # of each node

CONFIGURATION = """
ClusterName=test
SlurmctldHost={controller.name}({controller.address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
PluginDir={plugins}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
PartitionName=all Nodes=ALL Default=YES State=UP
"""
NODE = "NodeName={host.name} NodeAddr={host.address} CPUs={processors} State=UNKNOWN\n"


class Cluster:
    def __init__(self, nodes, folder):
        self.nodes = nodes
        self.log = folder / "log"
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf"), "LD_LIBRARY_PATH": str(PLUGINS)}
        (folder / "slurm.conf").write_text(
            CONFIGURATION.format(controller=nodes[0], plugins=PLUGINS, folder=folder)
            + "".join(NODE.format(host=host, processors=PROCESSORS) for host in nodes))

    def program(self, name):
        return ROOT / ("sbin" if name.startswith("slurm") else "bin") / name

    def start(self, host, name, *words, env=None, **popen):
        """One of Slurm's programs on a host; env: further variables."""
        return host.start([self.program(name), *words], cwd="/", env={**self.environment, **(env or {})}, **popen)

    def srun(self, *words, env=None):
        """`srun` on the first host; env: further variables, which it hands to all tasks."""
        return self.start(self.nodes[0], "srun", *words, env=env)

    def idle_nodes(self):
        told = self.start(self.nodes[0], "sinfo", "-h", "-N", "-o", "%T")
        try:
            return told.communicate(timeout=20)[0].split().count("idle")
        except subprocess.TimeoutExpired:
            hosts.kill([told])
            return 0

    def wait_until_idle(self, seconds):
        deadline = time.monotonic() + seconds
        while self.idle_nodes() < len(self.nodes):
            assert time.monotonic() < deadline, self.log.read_text()[-3000:]
            time.sleep(0.2)


@contextlib.contextmanager
def cluster(nodes, folder):
    """A cluster of these hosts, as long as the with statement lasts. folder: of this machine, seen by all of them."""
    missing = [name for name in ("sbin/slurmctld-wlm", "sbin/slurmd-wlm", "sbin/slurmstepd-wlm", "bin/srun", "bin/sinfo")
               if not (ROOT / name).exists()]
    if missing:
        pytest.skip(f"Slurm is not there: {', '.join(missing)}")
    folder = pathlib.Path(folder)
    (folder / "state").mkdir(parents=True)
    made = Cluster(nodes, folder)
    with open(made.log, "w") as log:
        output = {"stdout": log, "stderr": log}
        daemons = [made.start(nodes[0], "slurmctld-wlm", "-D", "-c", **output)]
        daemons += [made.start(host, "slurmd-wlm", "-D", "-N", host.name, "-d", made.program("slurmstepd-wlm"), **output)
                    for host in nodes]
        try:
            made.wait_until_idle(60)
            yield made
        finally:
            hosts.kill(daemons)
            for daemon in daemons:
                daemon.wait()
