"""Programs that train with CUDA and NCCL and nothing else: what they do wrong with their gradients is found, at its line;
what they do right, in ways of their own, is left alone."""
import ddpscope
import launch
import pytest
from test_recorded import expect_place, recorded

everywhere = pytest.mark.parametrize("ranks, seed", [(ranks, seed) for ranks in (2, 4) for seed in ddpscope.SEEDS])
RULES = {"redundant-accumulation-sync", "missing-gradient-sync"}


def run(program, ranks, seed, folder, *mode):
    """The report of a job whose steps and micro-batches are drawn."""
    rng = ddpscope.draw(seed, f"{program}/{ranks}/{mode}")
    drawn = [rng.randrange(6, 12), *([rng.randrange(2, 5)] if mode else [])]
    done, trace = recorded(launch.trainer(program, ranks, *drawn, *mode), folder)
    assert done.code == 0, done.stdout + done.stderr
    return drawn, trace


def expect_one(trace, slug, ranks, severity, source, text):
    finding = ddpscope.only_finding(trace, slug)
    assert (finding["ranks"], finding["severity"]) == (list(range(ranks)), severity)
    expect_place(finding, finding["evidence"][0]["rank"], source, text)
    return finding


def expect_none(trace, unjudged=frozenset()):
    report = ddpscope.report(trace)
    assert report["findings"] == []
    assert {slug for row in report["coverage"] for slug in row["unjudged"]} & RULES == unjudged


@everywhere
def test_every_micro_batch(tmp_path, ranks, seed):
    (_, micro_batches), trace = run("accumulate", ranks, seed, tmp_path, "every")
    finding = expect_one(trace, "redundant-accumulation-sync", ranks, "warning", "accumulate.cu", "ncclAllReduce(layer.gradients")
    values = 256 * 512 + 512 * 128 + 128 * 16
    assert finding["cost"]["bytes_per_step"] == 4 * values * (micro_batches - 1)
    assert finding["evidence"][-1]["detail"].startswith("sgd_update"), finding["evidence"][-1]


@everywhere
def test_an_update_that_only_a_range_names(tmp_path, ranks, seed):
    _, trace = run("accumulate", ranks, seed, tmp_path, "every", "range")
    finding = expect_one(trace, "redundant-accumulation-sync", ranks, "warning", "accumulate.cu", "ncclAllReduce(layer.gradients")
    assert finding["confidence"] == "likely"
    assert finding["evidence"][-1]["detail"].startswith('in the range that the program calls "optimizer step"')


@everywhere
def test_healthy_with_a_range(tmp_path, ranks, seed):
    expect_none(run("accumulate", ranks, seed, tmp_path, "last", "range")[1])


@everywhere
def test_first_micro_batch(tmp_path, ranks, seed):
    _, trace = run("accumulate", ranks, seed, tmp_path, "first")
    expect_one(trace, "missing-gradient-sync", ranks, "error", "accumulate.cu", "ncclAllReduce(layer.gradients")


@everywhere
def test_never(tmp_path, ranks, seed):
    _, trace = run("accumulate", ranks, seed, tmp_path, "never")
    expect_one(trace, "missing-gradient-sync", ranks, "error", "accumulate.cu", "ncclBroadcast(w, w")


@everywhere
def test_never_and_no_weights_handed_out(tmp_path, ranks, seed):
    """llm.c with its reduction of gradients taken out: all ranks begin with the same weights, and average the loss that they print. Whether
    they mean to train one model does not show."""
    expect_none(run("accumulate", ranks, seed, tmp_path, "alike")[1], unjudged={"missing-gradient-sync"})


@everywhere
@pytest.mark.parametrize("mode", ["tail", "late"])
def test_what_is_wrong_does_not_show(tmp_path, mode, ranks, seed):
    """Some steps are left out; or sums are reduced that the update has used."""
    expect_none(run("accumulate", ranks, seed, tmp_path, mode)[1], unjudged={"missing-gradient-sync"})


@everywhere
@pytest.mark.parametrize("mode", ["last", "local", "averaged"])
def test_healthy(tmp_path, mode, ranks, seed):
    """Once a step; Local SGD, also with an average in each step."""
    expect_none(run("accumulate", ranks, seed, tmp_path, mode)[1])


@everywhere
def test_two_networks_in_turn(tmp_path, ranks, seed):
    expect_none(run("adversarial", ranks, seed, tmp_path)[1])


@everywhere
def test_sharded(tmp_path, ranks, seed):
    """All-gathers repeat in every micro-batch, and are no reductions."""
    expect_none(run("sharded", ranks, seed, tmp_path, "last")[1])


@everywhere
def test_sharded_every_micro_batch(tmp_path, ranks, seed):
    """Backward goes on behind each reduce-scatter, and a kernel adds up what it brought: that may be a use of it."""
    expect_none(run("sharded", ranks, seed, tmp_path, "every")[1], {"redundant-accumulation-sync"})


@everywhere
def test_sharded_after_every_backward(tmp_path, ranks, seed):
    _, trace = run("sharded", ranks, seed, tmp_path, "together")
    expect_one(trace, "redundant-accumulation-sync", ranks, "info", "sharded.cu", "ncclReduceScatter(")


@everywhere
def test_tensor_and_data_parallel(tmp_path, ranks, seed):
    expect_none(run("tensor_data", ranks, seed, tmp_path, "last")[1])


@everywhere
def test_tensor_and_data_parallel_every_micro_batch(tmp_path, ranks, seed):
    """A pair alone is data-parallel with nobody: nothing goes anywhere. Of more pairs all do the same, at one line."""
    _, trace = run("tensor_data", ranks, seed, tmp_path, "every")
    if ranks == 2:
        return expect_none(trace)
    finding = expect_one(trace, "redundant-accumulation-sync", ranks, "warning", "tensor_data.cu", "ncclAllReduce(layer->gradients")
    assert "ranks 0 and 2, and likewise ranks 1 and 3, reduce" in finding["title"]
