"""Models that are split, and how they are saved: FSDP2, tensor parallel layers, a pipeline; on NCCL without a GPU."""
import ddpscope
import pytest
from nccl_jobs import Job, evidence_of, expect_finding, expect_nothing_found, record
from test_order import classifier

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
both = pytest.mark.parametrize("ranks", [2, 4])
mostly = pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])


def sharded(seed, ranks, *arguments):
    rng = ddpscope.draw(seed, f"cuda/sharded/{arguments}/{ranks}")
    out = f"checkpoint{rng.randrange(100)}"
    return out, Job("fsdp2_trainer.py", [out, "--width", 16 * rng.randrange(2, 6), *arguments], ranks)


@both
def test_fsdp2_saves_by_shards(tmp_path, ranks, seed):
    _, job = sharded(seed, ranks, "--micro-batches", 2)
    expect_nothing_found(record(job, tmp_path), ranks)


@both
@pytest.mark.long
def test_rank_0_saves_all_of_fsdp2(tmp_path, ranks, seed):
    _, job = sharded(seed, ranks, "--save", "rank-0")
    expect_nothing_found(record(job, tmp_path), ranks)


@mostly
def test_fsdp2_reduces_every_micro_batch(tmp_path, ranks, seed):
    _, job = sharded(seed, ranks, "--micro-batches", 3, "--reduce", "every")
    expect_finding(record(job, tmp_path), "redundant-accumulation-sync", range(ranks), job.script, "loss.backward()", "info")


def expect_duplicate(trace, job, path, text):
    ranks = range(job.ranks)
    finding = expect_finding(trace, "duplicate-checkpoint-write", ranks, job.script, text)
    for rank in ranks:
        assert any((step.get("file") or "").endswith(path) for step in evidence_of(finding, rank)), finding


@mostly
@pytest.mark.parametrize("save, file, text", [pytest.param("everyone", "model.pt", "torch.save(whole", marks=pytest.mark.long),
                                              ("safetensors", "model.safetensors", "save_file({")])
def test_every_rank_saves_all_of_fsdp2(tmp_path, ranks, save, file, text, seed):
    """safetensors renames its file by a system call of its own (Rust's rustix), past the C library."""
    out, job = sharded(seed, ranks, "--save", save)
    expect_duplicate(record(job, tmp_path), job, f"{out}/{file}", text)


@both
@pytest.mark.long
def test_every_rank_saves_the_replica(tmp_path, ranks, seed):
    job, _ = classifier(seed, "save", ranks)
    job.arguments += ["--width", 500]  # large enough for the ranks' writes to meet
    expect_duplicate(record(job, tmp_path), job, f"{job.arguments[0]}/epoch0.pt", "# by everyone")


@both
@pytest.mark.parametrize("micro", [3, pytest.param(1, marks=pytest.mark.long)])
def test_tensor_parallel_layers(tmp_path, ranks, micro, seed):
    """Each forward and backward pass reduces activations."""
    job = Job("split_mlp.py", ["--micro-batches", micro, "--width", 8 * (2 + seed % 5)], ranks)
    expect_nothing_found(record(job, tmp_path), ranks)


@mostly
@pytest.mark.parametrize("batched", [["--batched"], pytest.param([], marks=pytest.mark.long)], ids=["batched", "plain"])
def test_pipeline(tmp_path, ranks, batched, seed):
    job = Job("pipeline_stages.py", ["--micro-batches", 2 + seed % 3, *batched], ranks, launcher="loop")
    expect_nothing_found(record(job, tmp_path), ranks)
