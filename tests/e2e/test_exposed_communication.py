"""Buckets that are reduced behind the backward pass are found with what it could have hidden; nothing else is."""
import ddpscope
import pytest
import trainer

# Each operation takes 4 ms, each kernel 1 ms, whatever else the machine does.
LINK_MS = 4
MODEL = {"STANDIN_LINK": f"{LINK_MS}ms,1GB/s", "STANDIN_KERNEL_NS": "1000000"}
SMALL = ["--bucket-bytes", 4096]  # several buckets


def draw_of(seed, name, ranks):
    draw = trainer.Draw(seed, f"exposed-communication/{name}", ranks)
    draw.epochs, draw.steps_per_epoch = 2, 8
    draw.accumulate = draw.rng.randrange(1, 3)
    draw.timeout = 60
    draw.environment = MODEL
    return draw


def assert_exposed(draw, folder):
    """Runs the faulty job; returns its trace."""
    trace = trainer.fault("exposed-communication/after-backward", draw, folder, *SMALL)
    finding = ddpscope.only_finding(trace, "exposed-communication")
    assert (finding["severity"], finding["ranks"]) == ("info", list(range(draw.ranks)))
    buckets = [step for step in finding["evidence"] if step["call"] == "ncclAllReduce"]
    assert len(buckets) > 1
    # All but one bucket, each at least as long as the link's latency, as far as backward is long.
    assert LINK_MS <= finding["cost"]["ms_per_step"]
    trainer.assert_at(finding, buckets[0]["rank"], "ncclAllReduce", trainer.place("gradient_buckets.cpp", "group_.all_reduce("))
    trainer.assert_ends_a_step(finding)
    return trace


@trainer.everywhere
def test_after_backward(tmp_path, ranks, seed):
    assert_exposed(draw_of(seed, "after-backward", ranks), tmp_path)


@trainer.other_tiers
def test_after_backward_by_times_of_other_tiers(tmp_path, tier, seed):
    draw = draw_of(seed, f"after-backward {tier}", 2)
    draw.gpu_timing = tier
    trace = assert_exposed(draw, tmp_path)
    assert ddpscope.report(trace)["job"]["gpu_timing"] == tier


@trainer.everywhere
@pytest.mark.parametrize("arguments", [SMALL, ["--twin", "one-bucket"], ["--twin", "many-buckets"]], ids=lambda words: str(words[-1]))
def test_nothing_is_exposed(tmp_path, arguments, ranks, seed):
    draw = draw_of(seed, f"healthy {arguments[-1]}", ranks)
    trainer.assert_silent(trainer.train(draw, tmp_path, *arguments))


@trainer.other_tiers
def test_nothing_is_exposed_by_times_of_other_tiers(tmp_path, tier, seed):
    draw = draw_of(seed, f"healthy {tier}", 2)
    draw.gpu_timing = tier
    trainer.assert_silent(trainer.train(draw, tmp_path, *SMALL))
