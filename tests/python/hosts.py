"""Several hosts on one machine, made of Linux namespaces: for tests of jobs that run on more than one.

Each host has a network card (eth0, all on one switch), a name, processes numbered from 1, a boot id, which is what tells
hosts apart in a trace, a disk of its own and a network file system that all of them see. Nothing of that is a mock but
the network file system's server, which is a folder of this machine behind FUSE, and the skews that say so.
"""
import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import time
import uuid

import ddpscope
import pytest

# With drift, a step or wall_s a program's clocks are read through this library, preloaded: a mock of a host's clocks.
SKEWED_CLOCK = ddpscope.BUILD / "lib" / "tests" / "libskewed_clock.so"
PROGRAMS = ["unshare", "nsenter", "ip", "hostname", "mount", "bindfs"]
SOURCE = "nas:/export"  # of the network file system, as in /proc/self/mountinfo


@dataclasses.dataclass
class Skew:
    """How a host's clocks differ from this machine's. CLOCK_MONOTONIC is set off by a time namespace, the rest is a mock."""
    monotonic_s: int = 0  # whole seconds; the sum with this machine's clock must not be negative
    drift_ppm: float = 0.0  # of all clocks, from the making of the host on
    wall_s: float = 0.0
    step_s: float = 0.0  # by which all clocks are set forward, or back, `step_after_s` after that
    step_after_s: float = 0.0


@dataclasses.dataclass
class Host:
    number: int
    name: str
    address: str
    boot_id: str
    shared: pathlib.Path  # the same files on all hosts; a mount of each host's own, so devices differ and inodes do not
    local: pathlib.Path  # likewise a path that all have, but each a disk of its own
    environment: dict  # that its programs need to see its clocks
    inside: int  # the process, as this machine numbers it, whose namespaces are the host

    def seen_from_outside(self, path):
        """Where this machine finds what the host calls `path`."""
        return pathlib.Path(f"/proc/{self.inside}/root") / pathlib.Path(path).relative_to("/")

    def start(self, command, cwd=None, env=None, **popen):
        """A process on this host, with its own process group; `cwd` as the host sees it."""
        enter = ["nsenter", "--all", "--target", self.inside, f"--wdns={cwd or self.local}", "--"]
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **popen}
        return subprocess.Popen([str(word) for word in [*enter, *command]], start_new_session=True,
                                env={**os.environ, **self.environment, **(env or {})}, **popen)


def finish(processes, timeout=120):
    """Waits for what Host.start started; after `timeout` seconds kills all of it and fails the test."""
    deadline, ended = time.monotonic() + timeout, []
    try:
        for process in processes:
            stdout, stderr = process.communicate(timeout=max(deadline - time.monotonic(), 0.1))
            ended.append(ddpscope.Finished(process.returncode, stdout, stderr))
    except subprocess.TimeoutExpired:
        kill(processes)
        said = "\n".join(process.communicate()[1][-1500:] for process in processes[len(ended):])
        raise AssertionError(f"no end after {timeout} s:\n{said}") from None
    finally:
        kill(processes)
    return ended


def kill(processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


# First process of a host. Its end, which comes with that of the test that holds the other end of its standard input,
# is the end of all others there, of the mounts and of the network.
FIRST_PROCESS = """
set -e
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /dev/shm
hostname "$NAME"
mount --bind "$FILES/boot_id" /proc/sys/kernel/random/boot_id
mount --bind "$FILES/hosts" /etc/hosts
mount -t tmpfs "disk-of-$NAME" "$LOCAL"
if [ "$SERVED" ]; then
  # No cache: what one host has done, the others see at once. A comma in the served path keeps bindfs from naming
  # that as the mount's source.
  bindfs -f --multithreaded --enable-lock-forwarding -o "fsname=$SOURCE,attr_timeout=0,entry_timeout=0,negative_timeout=0" "$SERVED" "$SHARED" &
  until mountpoint -q "$SHARED"; do kill -0 $!; sleep 0.02; done
fi
echo ready
exec cat > /dev/null
"""


def child_of(process):
    return int(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])


def hold(stack, unshared, script, env=None):
    """Starts the first process of a set of namespaces; returns its number on this machine."""
    holder = subprocess.Popen(["unshare", *unshared, "--fork", "--kill-child", "sh", "-c", script],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **(env or {})})
    stack.callback(end, holder)
    if holder.stdout.readline() != "ready\n":
        holder.kill()
        pytest.skip(f"no hosts made of namespaces here: {holder.communicate()[1].strip()[-200:]}")
    return child_of(holder)


def end(holder):
    holder.stdin.close()
    try:
        holder.wait(timeout=10)
    except subprocess.TimeoutExpired:
        holder.kill()
        holder.wait()
    holder.stdout.close()
    holder.stderr.close()


def ip(inside, *words):
    done = subprocess.run(["nsenter", "--net", "--target", str(inside), "ip", *words], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no network between namespaces here: ip {' '.join(words)}: {done.stderr.strip()}")


def plug(switch, host):
    """A cable from the host's eth0 to a port of the switch."""
    port = f"port{host.number}"
    ip(switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(host.inside))
    ip(switch, "link", "set", port, "master", "switch", "up")
    ip(host.inside, "addr", "add", f"{host.address}/24", "dev", "eth0")
    ip(host.inside, "link", "set", "lo", "up")
    ip(host.inside, "link", "set", "eth0", "up")


def clocks(skew):
    """The environment in which programs see these clocks."""
    if not skew.drift_ppm and not skew.wall_s and not skew.step_s:
        return {}
    monotonic = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + skew.monotonic_s * 10**9
    return {"LD_PRELOAD": str(SKEWED_CLOCK), "SKEWED_CLOCK_PPM": repr(skew.drift_ppm),
            "SKEWED_CLOCK_WALL_NS": str(round(skew.wall_s * 1e9)),
            "SKEWED_CLOCK_STEP": f"{round(skew.step_after_s * 1e9)} {round(skew.step_s * 1e9)}",
            "SKEWED_CLOCK_FROM": f"{monotonic} {time.clock_gettime_ns(time.CLOCK_REALTIME)}"}


def make(stack, switch, folder, host, skew, names):
    files = folder / f"host{host.number}"
    files.mkdir()
    (files / "boot_id").write_text(host.boot_id + "\n")
    (files / "hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for address, name in names))
    served = folder / "served,disk"
    environment = {"NAME": host.name, "FILES": files, "LOCAL": host.local, "SHARED": host.shared, "SOURCE": SOURCE,
                   "SERVED": served if served.exists() else ""}
    unshared = ["--net", "--uts", "--mount", "--ipc", "--pid"]
    if skew.monotonic_s:
        unshared += ["--time", "--monotonic", str(skew.monotonic_s), "--boottime", str(skew.monotonic_s)]
    host.inside = hold(stack, unshared, FIRST_PROCESS, {name: str(value) for name, value in environment.items()})
    plug(switch, host)


def skip_where_impossible(shared):
    if os.geteuid() != 0:
        pytest.skip("hosts made of namespaces need root")
    missing = [program for program in PROGRAMS if not shutil.which(program) and (shared or program != "bindfs")]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if shared and not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("no /dev/fuse: no network file system can be made")


@contextlib.contextmanager
def hosts(count, folder, names=None, skews=None, shared=True):
    """`count` hosts that last as long as the with statement; skipped, with the reason, where they cannot be made.

    folder: empty, or not there yet; `folder/shared` and `folder/local` are the two file systems' places on every host, all
    else of this machine's files is seen by all of them. shared=False: no network file system, where a test needs none.
    names: of the hosts, "host0" and so on if not given; two may be equal.
    """
    skip_where_impossible(shared)
    folder = pathlib.Path(folder).resolve()
    for place in ["shared", "local", *(["served,disk"] if shared else [])]:
        (folder / place).mkdir(parents=True)
    names = names or [f"host{number}" for number in range(count)]
    skews = skews or [Skew()] * count
    made = [Host(number, names[number], f"10.213.9.{number + 1}", str(uuid.uuid4()), folder / "shared",
                 folder / "local", clocks(skews[number]), 0) for number in range(count)]
    with contextlib.ExitStack() as stack:
        switch = hold(stack, ["--net"], "set -e; ip link add switch type bridge; ip link set switch up\n"
                                        "echo ready; exec cat > /dev/null")
        for host, skew in zip(made, skews):
            make(stack, switch, folder, host, skew, [(other.address, other.name) for other in made])
        yield made


def ranks(hosts, ranks_per_host, port, more=None):
    """(host, environment) of each rank, as launchers set it: by blocks of hosts. more(rank): further variables."""
    world = len(hosts) * ranks_per_host
    for rank in range(world):
        node, local = divmod(rank, ranks_per_host)
        yield hosts[node], {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(local),
                            "LOCAL_WORLD_SIZE": str(ranks_per_host), "NODE_RANK": str(node), "GROUP_RANK": str(node),
                            "MASTER_ADDR": hosts[0].address, "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "eth0",
                            **(more(rank) if more else {})}
