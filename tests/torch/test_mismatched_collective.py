"""On Gloo one rank calls a collective otherwise than the others. With another reduction, or a data type of as many bytes, nothing fails
and the numbers are wrong; else ranks wait until they give up, or abort."""
import ddpscope
import pytest
from jobs import SCRIPTS, Job, run_recorded

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)
SCRIPT = SCRIPTS / "disagreeing_ranks.py"


def recorded(folder, seed, ranks, differ, code):
    rng = ddpscope.draw(seed, f"mismatch/{differ}/{ranks}")
    odd = rng.randrange(ranks)
    job = Job(SCRIPT.name, ranks=ranks, arguments=["--rank", odd, "--step", rng.randrange(1, 8), "--differ", differ])
    return odd, run_recorded(job, folder, code)


def called_by(rank, finding):
    """The lines of the job at which the rank is seen to reduce its loss."""
    frames = [frame for step in finding["evidence"] if step["rank"] == rank for frame in step["stack"]]
    source = SCRIPT.read_text().splitlines()
    lines = [int(frame.split(":")[1].split()[0]) for frame in frames if f"/{SCRIPT.name}:" in frame]
    return [source[line - 1] for line in lines if "# of the loss" in source[line - 1]]


@pytest.mark.parametrize("differ, ranks", [("reduction", 2), ("type", 4), *(pytest.param(differ, ranks, marks=pytest.mark.long)
                                                                          for differ, ranks in [("reduction", 4), ("type", 2)])])
def test_wrong_numbers_in_silence(tmp_path, seed, differ, ranks):
    odd, trace = recorded(tmp_path, seed, ranks, differ, code=0)
    finding = ddpscope.only_finding(trace, "mismatched-collective")
    assert finding["severity"] == "error" and finding["confidence"] == "certain", finding
    assert finding["ranks"] == ([odd] if ranks > 2 else finding["ranks"][:1]), finding
    assert f"they differ in {'data type' if differ == 'type' else differ}" in finding["title"], finding
    other = next(rank for rank in range(ranks) if rank != odd)
    assert called_by(odd, finding) and called_by(other, finding), finding


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("differ", ["root", "count", "operation"])
def test_the_job_fails(tmp_path, seed, differ, ranks):
    odd, trace = recorded(tmp_path, seed, ranks, differ, code=1)
    finding = ddpscope.only_finding(trace, "mismatched-collective")
    assert odd in finding["ranks"] or ranks == 2, finding
    assert f"they differ in {differ}" in finding["title"], finding
    other = next(rank for rank in range(ranks) if rank != odd)
    assert called_by(odd, finding) and called_by(other, finding), finding


@pytest.mark.parametrize("ranks", [4, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("differ", ["groups", *(pytest.param(differ, marks=pytest.mark.long) for differ in ("shapes", "objects", "splits"))])
def test_what_may_differ(tmp_path, seed, differ, ranks):
    """Groups beside each other; shapes of as many numbers; objects of other sizes; how much each sends to whom."""
    report = ddpscope.report(recorded(tmp_path, seed, ranks, differ, code=0)[1])
    assert report["findings"] == [], report["findings"]
    unjudged = {slug for row in report["coverage"] for slug in row["unjudged"]}
    assert not unjudged & {"mismatched-collective", "skipped-barrier"}, report["coverage"]
