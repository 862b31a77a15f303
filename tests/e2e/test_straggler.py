"""A rank that keeps all others waiting in each step is found, with why; ranks that take turns are not."""
import caching_mount
import ddpscope
import pytest
import trainer

STEPS = 30  # of an epoch: 60 in all, more than the 50 from which a rank counts as late
KERNELS = {"STANDIN_KERNEL_NS": "100000"}  # a step takes its time, and leaves the processors to others meanwhile


# Eight ranks on two processors wait for these longer than a millisecond a kernel.
SLOW_KERNELS = {"STANDIN_KERNEL_NS": "4000000"}


def draw_of(seed, name, ranks):
    draw = trainer.Draw(seed, f"straggler/{name}", ranks)
    draw.epochs, draw.steps_per_epoch, draw.accumulate, draw.batch = 2, STEPS, 1, 4
    draw.timeout = 60
    draw.environment = KERNELS
    return draw


def assert_late(draw, trace, why):
    finding = ddpscope.only_finding(trace, "straggler")
    assert (finding["ranks"], finding["severity"]) == ([draw.rank], "warning"), finding["title"]
    assert why in finding["title"]
    assert 50 <= finding["count"] <= draw.epochs * STEPS
    assert finding["cost"]["ms_per_step"] > 1
    late = finding["evidence"][-1]
    assert late["rank"] == draw.rank and "after the last of the others" in late["detail"], late
    trainer.assert_at(finding, draw.rank, late["call"], trainer.place("gradient_buckets.cpp", "group_.all_reduce("))
    return finding


@trainer.everywhere
def test_slow_input(tmp_path, ranks, seed):
    """Each batch takes its worker 80 ms longer, whatever else the machine does."""
    draw = draw_of(seed, "slow-input", ranks)
    draw.workers = 1
    trace = trainer.fault("straggler/slow-input", draw, tmp_path, "--fault-delay", 2)
    finding = assert_late(draw, trace, "it waits for its input")
    waits = finding["evidence"][0]  # from the worker's pipe, which is read too often for a stack
    assert (waits["rank"], waits["call"]) == (draw.rank, "socket_read"), waits


@trainer.everywhere
def test_slow_device(tmp_path, ranks, seed):
    """Its host issues all in time: only device times show it."""
    draw = draw_of(seed, "slow-compute", ranks)
    draw.environment = SLOW_KERNELS
    trace = trainer.fault("straggler/slow-compute", draw, tmp_path)
    assert_late(draw, trace, "its device is late though its host is not")


@pytest.mark.one_of(2)
@trainer.other_tiers
def test_slow_device_by_times_of_other_tiers(tmp_path, tier, seed):
    draw = draw_of(seed, f"slow-compute {tier}", 2)
    draw.environment, draw.gpu_timing = SLOW_KERNELS, tier
    trace = trainer.fault("straggler/slow-compute", draw, tmp_path)
    # Only CUPTI times kernels.
    assert_late(draw, trace, "its device computes" if tier == "cupti" else "its device is late though its host is not")
    assert ddpscope.report(trace)["job"]["gpu_timing"] == tier


@trainer.everywhere
def test_slow_files(tmp_path, ranks, seed):
    caching_mount.skip_where_impossible()
    draw = draw_of(seed, "slow-files", ranks)
    (tmp_path / "backing").mkdir()
    (tmp_path / "out").mkdir()
    command = [trainer.TRAINER, *draw.arguments(), "--workdir", tmp_path / "out", "--fault", "straggler/slow-files",
               "--fault-rank", draw.rank]
    with caching_mount.mounted(tmp_path / "backing", tmp_path / "out" / "logs", bytes_per_second=500_000):
        done = ddpscope.record(command, tmp_path / "trace", tmp_path, cpu=True, env=draw.environment, timeout=240)
    assert done.code == 0, done.stderr[-3000:]
    assert_late(draw, tmp_path / "trace", "it is inside calls on files")


@trainer.everywhere
def test_files_on_a_disk_that_is_fast_are_no_wait_of_seconds(tmp_path, ranks, seed):
    """The trainer may still be late by what a disk takes to be sure; never for another reason than its files."""
    draw = draw_of(seed, "fast-files", ranks)
    trace = trainer.fault("straggler/slow-files", draw, tmp_path)
    for finding in ddpscope.report(trace)["findings"]:
        assert finding["slug"] == "straggler" and finding["ranks"] == [draw.rank], finding["title"]


@trainer.everywhere
@pytest.mark.parametrize("twin", ["uneven-samples", None])
def test_nobody_is_late(tmp_path, twin, ranks, seed):
    draw = draw_of(seed, twin or "healthy", ranks)
    trace = trainer.train(draw, tmp_path, *(["--twin", twin, "--fault-delay", 1] if twin else []))
    trainer.assert_silent(trace)


@pytest.mark.one_of(2)
@trainer.other_tiers
def test_nobody_is_late_by_times_of_other_tiers(tmp_path, tier, seed):
    draw = draw_of(seed, f"healthy {tier}", 2)
    draw.gpu_timing = tier
    trainer.assert_silent(trainer.train(draw, tmp_path))
