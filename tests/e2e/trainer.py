"""Runs the reference trainer under `ddpscope run --cpu`, with sizes, fault and place drawn from a seed."""
import json
import pathlib
import re
import signal
import subprocess
import time

import ddpscope
import live_jobs
import pytest

TRAINER = ddpscope.BUILD / "bin" / "reference_trainer"
REPOSITORY = pathlib.Path(__file__).parents[2]
SOURCES = REPOSITORY / "reference_trainer"
TABLE = json.loads(subprocess.check_output([TRAINER, "--list-faults", "--json"], text=True))

# Findings that the trainer has faults for, but this version no detector. Their faults run, and nothing wrong may be
# found on them. A finding that gets a detector leaves this list: its faults are then expected to be found.
WITHOUT_DETECTOR = set()

# Every end-to-end test runs at these sizes and once a seed; CI leaves out the middle one (tests/python/rank_counts.py).
everywhere = pytest.mark.parametrize("ranks, seed", [(ranks, seed) for ranks in (2, 4, 8) for seed in ddpscope.SEEDS])
# What is judged by device times is judged by those of each tier: events, the default, everywhere; the others here.
other_tiers = pytest.mark.parametrize("tier, seed", [(tier, seed) for tier in ("profiler", "cupti") for seed in ddpscope.SEEDS])


class Draw:
    """One job: what it trains on, how large it is, which rank is faulty and when."""

    def __init__(self, seed, test, ranks):
        self.rng = ddpscope.draw(seed, f"{test}/{ranks}")
        self.ranks = ranks
        self.rank = self.rng.randrange(ranks)
        self.epochs = self.rng.randrange(2, 4)
        # With fewer samples a loader worker may by chance read all of its own in the order in which they lie.
        self.steps_per_epoch = self.rng.randrange(5, 8)
        self.accumulate = self.rng.randrange(2, 5)
        self.batch = self.rng.choice([4, 8])
        self.width = self.rng.choice([48, 64, 80])
        self.at = 1
        self.timeout = 5  # seconds without progress after which the trainer gives up
        self.workers = None  # of a rank's loader; None: drawn
        self.environment = {}
        self.gpu_timing = "auto"

    @property
    def samples(self):
        return self.ranks * self.batch * self.accumulate * self.steps_per_epoch

    def arguments(self):
        seed, workers = self.rng.randrange(1, 1000), self.rng.randrange(1, 3)
        return ["--ranks", self.ranks, "--epochs", self.epochs, "--samples", self.samples, "--batch", self.batch,
                "--accumulate", self.accumulate, "--width", self.width,
                "--seed", seed, "--workers", workers if self.workers is None else self.workers, "--timeout", self.timeout]


def train(draw, folder, *extra, code=0):
    """Runs the job recorded; returns its trace. code: the exit code it must have, None for any but 0."""
    work = folder / draw.rng.choice(["out", "run", "job"])
    trace = folder / "trace"
    command = [TRAINER, *draw.arguments(), "--workdir", work, *extra]
    done = ddpscope.record(command, trace, folder, cpu=True, env=draw.environment, timeout=180, gpu_timing=draw.gpu_timing)
    wrong = done.code == 0 if code is None else done.code != code
    assert not wrong, f"exit code {done.code}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return trace


def until_stuck(folder):
    """`ddpscope status` says that it is, and 2 s more."""
    deadline = time.monotonic() + 90
    while not (folder / "trace").exists() or live_jobs.status(folder).code != 1:
        assert time.monotonic() < deadline, "it never got stuck"
        time.sleep(0.5)
    time.sleep(2)


def train_and_signal(draw, folder, signal_number, wait, *extra):
    """The same, but `ddpscope run` gets a signal once `wait(folder)` returns, and hands it on."""
    command = [ddpscope.DDPSCOPE, "run", "--cpu", "-o", folder / "trace", "--", TRAINER, *draw.arguments(),
               "--workdir", folder / "out", *extra]
    job = subprocess.Popen([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # ignored in a shell's background
    wait(folder)
    job.send_signal(signal_number)
    stderr = job.communicate(timeout=60)[1]
    assert job.returncode == 128 + signal_number, stderr[-3000:]
    return folder / "trace"


def fault(name, draw, folder, *extra, code=0):
    return train(draw, folder, "--fault", name, "--fault-rank", draw.rank, "--fault-at", draw.at, *extra, code=code)


def catalogue():
    """{slug: (slugs that it explains, faults)} of findings.def."""
    text = re.sub(r'"\s+"', "", (REPOSITORY / "collector/findings/findings.def").read_text())
    rows = (re.findall(r'"([^"]*)"', row) for row in text.split("\nDDPSCOPE_FINDING(")[1:])
    return {slug: (explains.split(), faults) for slug, _, _, _, explains, faults in rows}


def explained_by(slug):
    """All that may follow from this finding."""
    table = catalogue()
    found, new = set(), {slug}
    while new:
        found |= new
        new = {explained for known in new for explained in table[known][0]} - found
    return found


def without_detector(report):
    return {slug for entry in report["coverage"] if entry["why"] == "not in this version" for slug in entry["unjudged"]}


def assert_found_if_possible(trace, slug):
    """The one finding is this one; while it has no detector, there is nothing but what it would explain."""
    if slug not in WITHOUT_DETECTOR:
        ddpscope.only_finding(trace, slug)
        return
    report = ddpscope.report(trace)
    assert slug in without_detector(report), "silence would be taken for health"
    wrong = [finding for finding in report["findings"] if finding["slug"] not in explained_by(slug)]
    assert wrong == [], json.dumps(wrong, indent=1)[:4000]


def assert_ends_a_step(finding):
    """The last evidence is the optimizer's kernel, in the rank of the first."""
    last = finding["evidence"][-1]
    assert "LaunchKernel" in last["call"] and last["detail"].startswith("adamw: "), last
    assert last["rank"] == finding["evidence"][0]["rank"]


def assert_silent(trace, unjudged=frozenset(), perhaps=frozenset()):
    """No finding; of what the trainer's faults are about just `unjudged` was left unjudged, and coverage says so.

    perhaps: what may be, or not.
    """
    result = ddpscope.report(trace)
    assert result["findings"] == [], json.dumps(result["findings"], indent=1)[:4000]
    assert result["job"]["dropped"] == 0
    listed = {slug for row in result["coverage"] for slug in row["unjudged"]}
    known = {"skipped-barrier", "duplicate-checkpoint-write", "unsharded-sampler", "redundant-accumulation-sync",
             "mismatched-collective", "hung-collective", "no-process-group", "divergent-existence-check",
             "missing-gradient-sync", "repeated-epoch-order", "uneven-steps", "shared-device", "rank-mismatch"}
    assert (listed & known) - perhaps == unjudged, result["coverage"]


def place(file, text, which=0):
    """"file:line" of the which-th line of a source of the trainer that contains text."""
    lines = [number for number, line in enumerate((SOURCES / file).read_text().splitlines(), 1) if text in line]
    assert lines, f"{text!r} is not in {file}"
    return f"{file}:{lines[which]}"


def assert_at(finding, rank, call, where):
    """Some evidence of this rank is this call, made from this place."""
    steps = [step for step in finding["evidence"] if step["rank"] == rank and step["call"] == call]
    assert steps, f"no {call} of rank {rank} in {json.dumps(finding['evidence'], indent=1)[:4000]}"
    frames = [frame for step in steps for frame in step.get("stack", [])]
    assert any(where in frame for frame in frames), f"{where} not in {frames}"


def other(draw):
    """A rank that is not the faulty one."""
    return (draw.rank + 1) % draw.ranks
