"""A process a host that drives several devices, its ranks joined within one group of NCCL calls: one job, the right ranks."""
import ddpscope
import hosts
import pytest
from several_hosts import pair, ranks_by_host  # noqa: F401  (a fixture)

PROGRAM = ddpscope.BUILD / "bin" / "programs" / "host_devices"
SOURCE = "host_devices.cu"
PATIENCE = 8  # seconds after which a job that hangs is ended, as by whoever started it

sizes = pytest.mark.parametrize("devices, seed", [(devices, seed) for devices in (1, 2, 4) for seed in ddpscope.SEEDS])


def run(pair, trace, devices, rng, first=lambda node, devices: node * devices, extra=(), env=None):  # noqa: F811
    """How each host's process ended. first(node, devices): the rank of a host's first device."""
    steps = rng.randrange(3, 9)
    started = [host.start([ddpscope.DDPSCOPE, "run", "--cpu", "-o", trace, "--", "timeout", "--foreground", PATIENCE, PROGRAM,
                           pair[0].shared / "id", host.number, len(pair), devices, steps, first(host.number, devices), *extra],
                          env=env(host) if env else None) for host in pair]
    return hosts.finish(started)


@sizes
@pytest.mark.parametrize("variables", ["none", "of the node"])
def test_healthy(tmp_path, pair, devices, seed, variables):  # noqa: F811
    """Also where a launcher of one process a host numbers that: its RANK is none of NCCL's."""
    trace = tmp_path / "trace"
    env = {"none": None, "of the node": lambda host: {"RANK": str(host.number), "WORLD_SIZE": str(len(pair))}}[variables]
    ended = run(pair, trace, devices, ddpscope.draw(seed, f"healthy/{devices}"), env=env)
    assert [done.code for done in ended] == [0, 0], ended
    report = ddpscope.report(trace)
    assert report["findings"] == [] and report["job"]["ranks"] == 2 * devices and report["job"]["processes"] == 2
    assert report["job"]["hosts"] == ["host0", "host1"]
    assert ranks_by_host(trace) == {"host0": {0}, "host1": {devices}}, "the lowest of each process"
    info = ddpscope.start([ddpscope.DDPSCOPE, "info", trace], tmp_path).stdout
    assert all(f"rank {rank} of {2 * devices} (id" in info for rank in range(2 * devices)), info


@sizes
def test_one_device_with_another_count(tmp_path, pair, devices, seed):  # noqa: F811
    trace, rng = tmp_path / "trace", ddpscope.draw(seed, f"count/{devices}")
    odd, count = rng.randrange(2 * devices), rng.randrange(10, 4000)
    ended = run(pair, trace, devices, rng, extra=[odd, count])
    assert any(done.code for done in ended), ended
    finding = ddpscope.only_finding(trace, "mismatched-collective")
    assert finding["ranks"] == [odd] or (devices == 1 and odd in finding["ranks"])
    steps = [step for step in finding["evidence"] if step["rank"] == odd and f"of {count} float32" in step["detail"]]
    assert steps and steps[0]["process"].startswith(f"host{odd // devices}:") and steps[0]["stack"][0].startswith(SOURCE)


@sizes
def test_a_host_that_numbers_its_devices_from_one_too_few(tmp_path, pair, devices, seed):  # noqa: F811
    """The last rank of the first host is there twice, and the last of all nowhere: no group comes about."""
    trace, world = tmp_path / "trace", 2 * devices
    ended = run(pair, trace, devices, ddpscope.draw(seed, f"twice/{devices}"), lambda node, devices: node * (devices - 1))
    assert all(done.code for done in ended), ended
    finding = ddpscope.only_finding(trace, "rank-mismatch")
    assert finding["ranks"] == [devices - 1] and f"nobody joins as rank {world - 1}" in finding["title"], finding["title"]
    assert {step["process"].split(":")[0] for step in finding["evidence"]} == {"host0", "host1"}
    assert {step["detail"] for step in finding["evidence"]} == {f"joins as rank {devices - 1} of {world}"}
    assert all(step["stack"][0].startswith(SOURCE) for step in finding["evidence"])
