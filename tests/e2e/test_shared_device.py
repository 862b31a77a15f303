"""Ranks on one GPU, told apart by their UUIDs and not by their ordinals; memory on another rank's GPU."""
import re

import ddpscope
import trainer


def uuid(device):
    """Of a device of the stand-in."""
    text = b"CPU stand-in de".hex() + f"{device:02x}"
    return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


def assert_all_on(device, draw, finding):
    assert finding["ranks"] == list(range(draw.ranks))
    assert (finding["severity"], finding["confidence"]) == ("error", "certain")
    assert "use the same GPU at process_group.cpp" in finding["title"] and "NCCL makes no communicator" in finding["title"]
    where = trainer.place("process_group.cpp", "check(cudaSetDevice(device));")
    chosen = [step for step in finding["evidence"] if step["call"] == "cudaSetDevice"]
    assert [step["rank"] for step in chosen] == list(range(draw.ranks))
    for step in chosen:
        trainer.assert_at(finding, step["rank"], "cudaSetDevice", where)
        assert f"device 0 is GPU-{uuid(device)} of " in step["detail"]
        assert f"LOCAL_RANK is {step['rank']}" in step["detail"]
    trainer.assert_at(finding, 0, "ncclCommInitRank", trainer.place("communicators.cpp", "check(ncclCommInitRank("))


@trainer.everywhere
def test_all_select_device_0(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "same-device", ranks)
    trace = trainer.fault("shared-device/same-device", draw, tmp_path, code=1)
    assert_all_on(0, draw, ddpscope.only_finding(trace, "shared-device"))


@trainer.everywhere
def test_all_see_the_same_device(tmp_path, ranks, seed):
    """A launcher that hands one mask to all ranks: the program is right."""
    draw = trainer.Draw(seed, "same-mask", ranks)
    device = draw.rng.randrange(8)
    draw.environment = {"CUDA_VISIBLE_DEVICES": str(device)}
    trace = trainer.train(draw, tmp_path, code=1)
    assert_all_on(device, draw, ddpscope.only_finding(trace, "shared-device"))


@trainer.everywhere
def test_fewer_devices_than_ranks(tmp_path, ranks, seed):
    """Local ranks are dealt out over half as many devices."""
    draw = trainer.Draw(seed, "half", ranks)
    draw.environment = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, draw.rng.sample(range(8), ranks // 2)))}
    trace = trainer.train(draw, tmp_path, code=1)
    finding = ddpscope.only_finding(trace, "shared-device")
    assert finding["ranks"] == list(range(ranks)) and finding["severity"] == "error"
    assert ranks == 2 or f"ranks 0 and {ranks // 2}; ranks 1 and {ranks // 2 + 1}" in finding["title"]


@trainer.everywhere
def test_memory_on_device_0(tmp_path, ranks, seed):
    draw = trainer.Draw(seed, "foreign-memory", ranks)
    trace = trainer.fault("shared-device/foreign-memory", draw, tmp_path)
    finding = ddpscope.only_finding(trace, "shared-device")
    assert finding["ranks"] == list(range(1, ranks))
    assert (finding["severity"], finding["confidence"]) == ("warning", "certain")
    bytes_held = [int(re.search(r": ([0-9]+) bytes", step["detail"])[1]) for step in finding["evidence"]
                  if step["call"] == "cudaMalloc"]
    assert len(bytes_held) == ranks - 1 and len(set(bytes_held)) == 1
    assert f"{sum(bytes_held)} bytes on the GPU of rank 0 at saved_weights.cpp" in finding["title"]
    where = trainer.place("saved_weights.cpp", "DeviceBuffer<float> loaded(")
    for rank in range(1, ranks):
        trainer.assert_at(finding, rank, "cudaMalloc", where)
    trainer.assert_at(finding, 0, "ncclCommInitRank", trainer.place("communicators.cpp", "check(ncclCommInitRank("))
