"""Ranks whose copies of one model part, on Gloo: by the parameters that DistributedDataParallel hands out once."""
import ddpscope
import pytest
import records
from jobs import SCRIPTS, Job, run_recorded

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
SCRIPT = SCRIPTS / "plateau.py"


def trained(folder, seed, ranks, *arguments):
    rng = ddpscope.draw(seed, f"plateau/{arguments}/{ranks}")
    others = ["--optimizer", rng.choice(["SGD", "AdamW"]), "--micro-batches", rng.randrange(1, 4), "--depth", rng.randrange(1, 25),
              "--type", rng.choice(["float32", "float64"]), "--rank", rng.randrange(ranks), "--at", rng.randrange(2, 30)]
    return run_recorded(Job(SCRIPT.name, ranks=ranks, arguments=[*others, *arguments]), folder)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("fault", ["own-schedule", "one-resumes", *(pytest.param(fault, marks=pytest.mark.long) for fault in ("own-guard", "one-reloads", "not-alike"))])
def test_copies_part(tmp_path, seed, ranks, fault):
    finding = ddpscope.only_finding(trained(tmp_path, seed, ranks, "--fault", fault, "--rank", 1, "--at", 20), "rank-divergence")
    assert (finding["severity"], finding["confidence"]) == ("warning", "certain"), finding
    if ranks == 2 or fault == "not-alike":
        assert finding["ranks"] == list(range(ranks)), finding
    else:  # ranks whose schedules have happened to be alike until now have copies that are
        assert fault == "own-schedule" or finding["ranks"] == [1], finding
    assert ("from the first step on" in finding["title"]) == (fault in ("one-resumes", "not-alike")), finding
    line = ddpscope.line_of(SCRIPT, "self.optimizer.step()  # of all ranks")
    assert all(any(f"{SCRIPT.name}:{line} " in frame for frame in ddpscope.frames(finding, rank)) for rank in finding["ranks"][:2]), finding


# What ranks may do to their copies beside the common updates, and copies of what is no number.
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("beside", ["zero", "post-local", "ascent", *(pytest.param(beside, marks=pytest.mark.long) for beside in ("nothing", "swap", "frozen", "guard", "dropout", "join"))])
def test_copies_stay_alike(tmp_path, seed, ranks, beside):
    trace = trained(tmp_path, seed, ranks, "--beside", beside)
    report = ddpscope.report(trace)
    assert report["findings"] == [], report["findings"]
    assert "rank-divergence" not in {slug for row in report["coverage"] for slug in row["unjudged"]}, report["coverage"]
    samples = [record for record in records.read(trace) if record.call == "parameters_sampled"]
    assert len(samples) >= 40 * ranks, "as many as there are steps"


@pytest.mark.newest  # the older one trains no such numbers on the processor
@pytest.mark.long
@pytest.mark.parametrize("fault, found", [("none", []), ("one-reloads", ["rank-divergence"])])
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_numbers_of_half_the_size(tmp_path, seed, kind, fault, found):
    report = ddpscope.report(trained(tmp_path, seed, 2, "--optimizer", "SGD", "--type", kind, "--fault", fault, "--at", 20))
    assert [finding["slug"] for finding in report["findings"]] == found, report["findings"]
