"""The hosts that other tests run jobs on are several hosts: names, boot ids, disks, network, clocks."""
import os
import pathlib
import subprocess
import time

import hosts
import pytest


def said(host, *command, env=None):
    done, = hosts.finish([host.start(command, env=env)])
    assert done.code == 0, done.stderr
    return done.stdout.strip()


def clock_of(host, clock):
    """Nanoseconds by which the host's clock is ahead of this machine's, and how sure that is."""
    before = time.clock_gettime_ns(clock)
    there = int(said(host, "/usr/bin/python3", "-c", f"import time; print(time.clock_gettime_ns({clock}))"))
    after = time.clock_gettime_ns(clock)
    return there - (before + after) // 2, (after - before) // 2


def test_they_differ_in_what_tells_hosts_apart(tmp_path):
    with hosts.hosts(3, tmp_path / "hosts", shared=False) as three:
        assert [said(host, "hostname") for host in three] == ["host0", "host1", "host2"]
        boot_ids = [said(host, "cat", "/proc/sys/kernel/random/boot_id") for host in three]
        assert boot_ids == [host.boot_id for host in three] and len(set(boot_ids)) == 3
        pids = [said(host, "sh", "-c", "echo $$") for host in three]
        assert len(set(pids)) == 1, "processes are numbered alike"


def test_they_reach_each_other_and_nobody_else(tmp_path):
    serve = "import socket; s = socket.create_server(('', 4321)); print(s.accept()[1][0])"
    ask = "import socket; socket.create_connection(('host0', 4321), timeout=20)"
    with hosts.hosts(3, tmp_path / "hosts", shared=False) as three:
        server = three[0].start(["/usr/bin/python3", "-c", serve])
        until_listening = "until ss -ltn | grep -q :4321; do sleep 0.02; done"
        said(three[0], "sh", "-c", until_listening)
        client = three[2].start(["/usr/bin/python3", "-c", ask])
        ended = hosts.finish([server, client])
        assert [done.code for done in ended] == [0, 0], ended
        assert ended[0].stdout.strip() == three[2].address
        cards = said(three[1], "ip", "-o", "link").splitlines()
        assert [card.split()[1].split("@")[0] for card in cards] == ["lo:", "eth0"]


def test_one_folder_is_shared_and_one_is_not(tmp_path):
    with hosts.hosts(2, tmp_path / "hosts") as (first, second):
        said(first, "sh", "-c", f"echo a > {first.shared}/file; echo b > {first.local}/file")
        assert said(second, "cat", second.shared / "file") == "a"
        listing, = hosts.finish([second.start(["cat", second.local / "file"])])
        assert listing.code != 0 and "No such file" in listing.stderr
        said(second, "sh", "-c", f"echo c > {second.local}/file; rm {second.shared}/file")
        assert said(first, "ls", first.shared) == ""
        shown = [said(host, "stat", "-c", "%i", host.local / "file") for host in (first, second)]
        assert shown[0] == shown[1], "two files, one number"
        assert first.seen_from_outside(first.local / "file").read_text() == "b\n"


def test_files_of_the_shared_folder_have_one_inode_number_on_all_hosts(tmp_path):
    with hosts.hosts(2, tmp_path / "hosts") as pair:
        said(pair[0], "touch", pair[0].shared / "file")
        identities = [said(host, "stat", "-c", "%i %d", host.shared / "file").split() for host in pair]
        assert identities[0][0] == identities[1][0] and identities[0][1] != identities[1][1]


def test_clocks_are_set_off_and_drift(tmp_path):
    skews = [hosts.Skew(), hosts.Skew(monotonic_s=1000, drift_ppm=200_000, wall_s=-3.5)]
    with hosts.hosts(2, tmp_path / "hosts", skews=skews, shared=False) as (same, other):
        for clock in (time.CLOCK_MONOTONIC, time.CLOCK_REALTIME):
            ahead, sure = clock_of(same, clock)
            assert abs(ahead) <= sure
        made = time.monotonic_ns()
        monotonic, sure = clock_of(other, time.CLOCK_MONOTONIC)
        wall, wall_sure = clock_of(other, time.CLOCK_REALTIME)
        assert monotonic >= 1000e9 - sure
        assert -3.5e9 - wall_sure <= wall < -2e9, "set back, and ahead by what it has drifted since"
        time.sleep(1)
        later, later_sure = clock_of(other, time.CLOCK_MONOTONIC)
        drifted = 0.2 * (time.monotonic_ns() - made)
        assert 0.2e9 - sure - later_sure <= later - monotonic <= drifted + sure + later_sure


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_behind(tmp_path, fails):
    folder = tmp_path / "hosts"
    try:
        with hosts.hosts(2, folder) as pair:
            sleeper = pair[0].start(["sleep", "1000"])
            inside = [host.inside for host in pair]
            if fails:
                raise InterruptedError
    except InterruptedError:
        pass
    assert sleeper.wait(timeout=10) != 0
    assert not any(pathlib.Path(f"/proc/{pid}").exists() for pid in inside)
    assert str(folder) not in pathlib.Path("/proc/self/mountinfo").read_text()
    assert not [entry for entry in os.scandir(folder / "served,disk")]
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    assert "port0" not in links and "switch" not in links
