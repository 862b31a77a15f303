"""Gradient accumulation on Gloo, by what PyTorch's own calls say: who reduces each micro-batch, or the wrong one."""
import ddpscope
import pytest
import records
from jobs import SCRIPTS, Job, run_recorded

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
SCRIPT = SCRIPTS / "accumulated.py"
GRADIENTS = {"redundant-accumulation-sync", "missing-gradient-sync"}


def trained(folder, seed, ranks, *arguments):
    rng = ddpscope.draw(seed, f"accumulation/{arguments}/{ranks}")
    job = Job(SCRIPT.name, ranks=ranks, arguments=["--micro-batches", rng.randrange(2, 5), "--hidden", 16 * rng.randrange(2, 8),
                                                   "--optimizer", rng.choice(["SGD", "AdamW"]), *arguments])
    return run_recorded(job, folder)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("reduce, slug, severity", [("every", "redundant-accumulation-sync", "warning"),
                                                    ("first", "missing-gradient-sync", "error")])
def test_the_wrong_micro_batches_are_reduced(tmp_path, seed, ranks, reduce, slug, severity):
    finding = ddpscope.only_finding(trained(tmp_path, seed, ranks, "--reduce", reduce), slug)
    assert finding["ranks"] == list(range(ranks)) and finding["severity"] == severity, finding
    line = ddpscope.line_of(SCRIPT, "loss.backward()  # of one micro-batch")
    assert any(f"{SCRIPT.name}:{line} " in frame for frame in ddpscope.frames(finding, 0)), finding
    assert reduce == "first" or finding["cost"]["bytes_per_step"] > 0, finding


# The first layer's gradients come last.
UPDATES = ["loop", pytest.param("compiled", marks=pytest.mark.newest), pytest.param("first-layer", marks=pytest.mark.long)]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("reduce, slug", [("every", "redundant-accumulation-sync"), pytest.param("first", "missing-gradient-sync", marks=pytest.mark.long),
                                          pytest.param("never", "missing-gradient-sync", marks=pytest.mark.long)])
def test_nobody_names_the_update(tmp_path, seed, ranks, update, reduce, slug):
    finding = ddpscope.only_finding(trained(tmp_path, seed, ranks, "--reduce", reduce, "--update", update), slug)
    assert finding["ranks"] == list(range(ranks)), finding
    line = ddpscope.line_of(SCRIPT, "loss.backward()  # of one micro-batch")
    assert any(f"{SCRIPT.name}:{line} " in frame for frame in ddpscope.frames(finding, 0)), finding
    assert any("found to have changed" in row["detail"] for row in finding["evidence"]), finding


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("update", ["loop", pytest.param("compiled", marks=[pytest.mark.newest, pytest.mark.long]), UPDATES[2]])
def test_nobody_names_the_update_of_what_is_reduced_once(tmp_path, seed, ranks, update):
    report = ddpscope.report(trained(tmp_path, seed, ranks, "--update", update))
    assert report["findings"] == [], report["findings"]
    unjudged = {slug for row in report["coverage"] for slug in row["unjudged"]}
    assert not unjudged & GRADIENTS, report["coverage"]


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_step_of_a_hundred_evaluations_is_one(tmp_path, seed, ranks):
    """LBFGS writes the parameters between the passes of its own step, which has a name."""
    trace = trained(tmp_path, seed, ranks, "--beside", "evaluations")
    assert ddpscope.report(trace)["findings"] == []
    calls = [record.call for record in records.read(trace)]
    assert calls.count("optimizer_step") == 10 * ranks and calls.count("autograd_backward") > 640 * ranks, "more than are waited for"
    assert "parameters_updated" not in calls


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("reduce", ["every", pytest.param("last", marks=pytest.mark.long)])
def test_an_update_that_nothing_shows(tmp_path, seed, ranks, reduce):
    report = ddpscope.report(trained(tmp_path, seed, ranks, "--reduce", reduce, "--update", "data"))
    assert report["findings"] == [], report["findings"]
    unjudged = {slug for row in report["coverage"] for slug in row["unjudged"]}
    assert GRADIENTS <= unjudged, report["coverage"]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("how", [["--past-wrapper"], pytest.param(["--reduce", "never"], marks=pytest.mark.long)])
def test_no_pass_is_reduced(tmp_path, seed, ranks, how):
    finding = ddpscope.only_finding(trained(tmp_path, seed, ranks, *how), "missing-gradient-sync")
    assert finding["ranks"] == list(range(ranks)) and finding["severity"] == "error", finding
    line = ddpscope.line_of(SCRIPT, "loss.backward()  # of one micro-batch")
    assert any(f"{SCRIPT.name}:{line} " in frame for frame in ddpscope.frames(finding, 0)), finding
    assert ("no_sync()" in finding["evidence"][0]["detail"]) == ("never" in how), finding


@pytest.mark.newest
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
def test_the_optimizer_runs_within_the_pass(tmp_path, seed, ranks):
    """It has used each gradient before DistributedDataParallel reduces it."""
    finding = ddpscope.only_finding(trained(tmp_path, seed, ranks, "--update", "in-backward", "--micro-batches", 1), "missing-gradient-sync")
    assert (finding["ranks"], finding["severity"]) == (list(range(ranks)), "error"), finding
    assert "in which the optimizer runs, before" in finding["evidence"][0]["detail"], finding
    assert finding["advice"].startswith("Run the optimizer behind backward()"), finding


@pytest.mark.newest
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
def test_another_optimizer_runs_within_the_pass(tmp_path, seed, ranks):
    """Of parameters that each rank has for itself; those that are reduced wait for the end of the pass."""
    report = ddpscope.report(trained(tmp_path, seed, ranks, "--beside", "own-head"))
    assert report["findings"] == [], report["findings"]
    unjudged = {slug for row in report["coverage"] for slug in row["unjudged"]}
    assert not unjudged & GRADIENTS, report["coverage"]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("steps, confidence", [(15, "certain"), pytest.param(5, "likely", marks=pytest.mark.long)])
def test_shorter_steps_are_left_out(tmp_path, seed, ranks, steps, confidence):
    """The last group of micro-batches of an epoch, which never reaches the number at which the program reduces. Statistics of the model that
    DistributedDataParallel broadcasts later are no parameters."""
    trace = trained(tmp_path, seed, ranks, "--short", "left-out", "--steps", steps, "--buffers")
    finding = ddpscope.only_finding(trace, "missing-gradient-sync")
    assert (finding["ranks"], finding["severity"], finding["confidence"]) == (list(range(ranks)), "error", confidence), finding
    assert f"in {steps // 3} of {steps - 2} steps" in finding["title"], finding
    line = ddpscope.line_of(SCRIPT, "loss.backward()  # of one micro-batch")
    assert any(f"{SCRIPT.name}:{line} " in frame for frame in ddpscope.frames(finding, 0)), finding


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("how", [["--short", "reduced", "--buffers"], *(pytest.param(how, marks=pytest.mark.long) for how in (["--short", "left-out", "--by-hand", "gradients"], ["--beside", "ascent"]))])
def test_no_step_is_left_out(tmp_path, seed, ranks, how):
    report = ddpscope.report(trained(tmp_path, seed, ranks, *how))
    assert report["findings"] == [], report["findings"]
    unjudged = {slug for row in report["coverage"] for slug in row["unjudged"]}
    assert not unjudged & GRADIENTS, report["coverage"]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("by", [["--by-hand", "parameters"], pytest.param(["--update", "loop"], marks=pytest.mark.long)])
def test_what_is_left_out_may_be_made_good(tmp_path, seed, ranks, by):
    """Parameters are averaged behind the steps; or the updates have no name, and may be taken back."""
    report = ddpscope.report(trained(tmp_path, seed, ranks, "--short", "left-out", "--steps", 15, *by))
    assert report["findings"] == [], report["findings"]
    rows = [row["why"] for row in report["coverage"] if "missing-gradient-sync" in row["unjudged"]]
    assert len(rows) == 1 and rows[0].startswith("some steps reduce none"), report["coverage"]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("what", ["gradients", pytest.param("parameters", marks=pytest.mark.long)])
def test_the_program_reduces_by_itself(tmp_path, seed, ranks, what):
    report = ddpscope.report(trained(tmp_path, seed, ranks, "--past-wrapper", "--by-hand", what))
    assert report["findings"] == [], report["findings"]
    assert any("exchanges numbers by itself" in row["why"] for row in report["coverage"]), report["coverage"]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("beside", ["critic", *(pytest.param(beside, marks=pytest.mark.long) for beside in ("nothing", "search", "adversary", "penalty"))])
def test_each_step_is_reduced_once(tmp_path, seed, ranks, beside):
    report = ddpscope.report(trained(tmp_path, seed, ranks, "--beside", beside))
    assert report["findings"] == [], report["findings"]
    unjudged = {slug for row in report["coverage"] for slug in row["unjudged"]}
    assert not unjudged & GRADIENTS, report["coverage"]
