"""Hosts whose clocks are off by seconds and drift are aligned to within the bound that is printed."""
import clock_truth
import ddpscope
import hosts
import ports
import pytest
import trainer

MADE = ["ncclCommInitRank", "ncclCommDestroy"]  # near the job's begin and at its end


@pytest.mark.parametrize("count, ranks_per_host", [(2, 1), (2, 2), (3, 1)])
def test_aligned_within_the_printed_bound(count, ranks_per_host, tmp_path):
    skews = [hosts.Skew(), hosts.Skew(monotonic_s=1000, drift_ppm=100, wall_s=1),
             hosts.Skew(monotonic_s=5, drift_ppm=-60, wall_s=-1)][:count]
    port = ports.free_port()
    with hosts.hosts(count, tmp_path / "hosts", skews=skews) as machines:
        trace = machines[0].shared / "trace"
        outside = tmp_path / "hosts" / "served,disk" / "trace"
        job = [host.start([ddpscope.DDPSCOPE, "run", "--cpu", "-o", trace, "--", trainer.TRAINER, "--epochs", "2",
                           "--samples", "128", "--batch", "4", "--width", "48", "--timeout", "30",
                           "--workdir", host.shared / "job"], env=environment)
               for host, environment in hosts.ranks(machines, ranks_per_host, port)]
        ended = hosts.finish(job)
        assert [done.code for done in ended] == [0] * len(job), "\n".join(done.stderr[-1000:] for done in ended)
        assert ddpscope.report(outside)["findings"] == []
        clock_truth.assert_within_bound(outside, dict.fromkeys(MADE, count * ranks_per_host))
