"""How often, and whether, gradients are reduced: PyTorch's DDP on NCCL without a GPU."""
import ddpscope
import pytest
import records
from nccl_jobs import Job, expect_finding, expect_nothing_found, record

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
both = pytest.mark.parametrize("ranks", [2, 4])
mostly = pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])

# A bucket of 25 MiB holds this model; one of 10 KiB a layer of it. The legacy process group and the new one differ in how
# the compute stream waits for a bucket.
BUCKETS = {"one": ["--bucket-mb", 25], "several": ["--bucket-mb", 0.01], "several-norm": ["--bucket-mb", 0.01, "--norm"]}


def accumulated(seed, ranks, reduce, bucket, legacy=False):
    rng = ddpscope.draw(seed, f"cuda/accumulated/{reduce}/{bucket}/{ranks}")
    return Job("accumulated.py", ["--reduce", reduce, "--micro-batches", rng.randrange(2, 5), "--hidden", 16 * rng.randrange(4, 8),
                                  "--optimizer", rng.choice(["SGD", "AdamW"]), *BUCKETS[bucket]], ranks, launcher="loop",
               environment={"TORCH_DIST_USE_NCCL2": "0"} if legacy else {})


@both
@pytest.mark.parametrize("bucket", ["several", *(pytest.param(name, marks=pytest.mark.long) for name in ("one", "several-norm"))])
def test_every_micro_batch_is_reduced(tmp_path, ranks, bucket, seed):
    job = accumulated(seed, ranks, "every", bucket)
    expect_finding(record(job, tmp_path), "redundant-accumulation-sync", range(ranks), job.script,
                   "loss.backward()  # of one micro-batch", "warning")


@both
@pytest.mark.long
def test_every_micro_batch_is_reduced_by_the_legacy_process_group(tmp_path, ranks, seed):
    job = accumulated(seed, ranks, "every", "several", legacy=True)
    expect_finding(record(job, tmp_path), "redundant-accumulation-sync", range(ranks), job.script,
                   "loss.backward()  # of one micro-batch", "warning")


@both
@pytest.mark.parametrize("bucket", ["several-norm", *(pytest.param(name, marks=pytest.mark.long) for name in ("one", "several"))])
def test_the_last_micro_batch_is_reduced(tmp_path, ranks, bucket, seed):
    job = accumulated(seed, ranks, "last", bucket)
    trace = record(job, tmp_path)
    expect_nothing_found(trace, ranks)
    # PyTorch's group on NCCL and its reducer's calls are there, beside NCCL's own; steps come from PyTorch.
    found = records.read(trace)
    groups = {r.pid: r["communicator"] for r in found if r.call == "c10d_group" and r["backend"] == "nccl"}
    reduced = [r for r in found if r.call == "c10d_allreduce" and "reducer" in r["flags"]]
    assert len(groups) == ranks and reduced and all(r["communicator"] == groups[r.pid] for r in reduced), groups
    assert any(r.call.startswith("ncclAllReduce") for r in found)
    info = ddpscope.start([ddpscope.DDPSCOPE, "info", trace], tmp_path).stdout
    micro_batches = job.arguments[job.arguments.index("--micro-batches") + 1]
    assert info.count("by PyTorch's call Optimizer.step#") == ranks, info
    assert info.count(f"micro-batches {micro_batches} a step, by backward passes") == ranks, info
    assert info.count("gradients of DistributedDataParallel") == ranks, info


@pytest.mark.long
@mostly
@pytest.mark.parametrize("bucket", ["several", pytest.param("one", marks=pytest.mark.long)])
def test_the_first_micro_batch_is_reduced(tmp_path, ranks, bucket, seed):
    job = accumulated(seed, ranks, "first", bucket)
    expect_finding(record(job, tmp_path), "missing-gradient-sync", range(ranks), job.script)


def denoiser(seed, ranks, *arguments):
    rng = ddpscope.draw(seed, f"cuda/denoiser/{arguments}/{ranks}")
    return Job("bypassed_wrapper.py", ["--width", rng.randrange(32, 96), rng.choice(["--foreach", "--no-foreach"]), *arguments], ranks)


@both
def test_the_wrapper_is_bypassed(tmp_path, ranks, seed):
    job = denoiser(seed, ranks, "--past")
    expect_finding(record(job, tmp_path), "missing-gradient-sync", range(ranks), job.script)


@pytest.mark.long
@mostly
def test_the_wrapper_is_bypassed_to_sample(tmp_path, ranks, seed):
    expect_nothing_found(record(denoiser(seed, ranks), tmp_path), ranks)


@mostly
def test_ranks_on_one_device(tmp_path, ranks, seed):
    """NCCL refuses them; the new process group has communicators on devices of its own choice, and PyTorch raises an error."""
    job = Job("one_device.py", ranks=ranks, launcher="loop", environment={"TORCH_DIST_USE_NCCL2": "0"})
    expect_finding(record(job, tmp_path, code=None), "shared-device", range(ranks), job.script)


@both
@pytest.mark.long
def test_a_device_a_rank(tmp_path, ranks, seed):
    expect_nothing_found(record(Job("one_device.py", ["--set-device"], ranks, launcher="loop"), tmp_path), ranks)
