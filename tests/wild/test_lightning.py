"""Lightning by its own launcher: the program is rank 0 and starts the others, with a number within the host only."""
import pathlib

import ddpscope
import wheel

SCRIPT = pathlib.Path(__file__).parent / "jobs" / "lightning_fit.py"
SAMPLES = {"unsharded-sampler", "repeated-epoch-order"}  # in memory


def report_of(folder, *arguments):
    done = ddpscope.record([wheel.python("--wild"), SCRIPT, "--ranks", "2", *arguments], folder / "trace", folder,
                           env={"OMP_NUM_THREADS": "1"}, timeout=300)
    assert done.code == 0, done.stderr[-4000:]
    report = ddpscope.report(folder / "trace")
    assert report["job"]["ranks"] == 2, report["job"]
    return report


def test_a_healthy_program_is_silent(tmp_path):
    """Of two micro-batches Lightning runs the first inside no_sync(), the second in a closure of the optimizer."""
    report = report_of(tmp_path)
    assert report["findings"] == [], report["findings"]
    unjudged = {slug for row in report["coverage"] for slug in row["unjudged"]}
    assert not unjudged & {"missing-gradient-sync", "redundant-accumulation-sync", "uneven-steps"}, report["coverage"]


def test_a_callback_saves_on_all_ranks(tmp_path):
    finding, = report_of(tmp_path, "--save", "all")["findings"]
    assert finding["slug"] == "duplicate-checkpoint-write" and finding["ranks"] == [0, 1], finding
    line = ddpscope.line_of(SCRIPT, "# kept")
    assert any(f"{SCRIPT.name}:{line} " in frame for frame in ddpscope.frames(finding, 0)), finding
