"""The jobs of this folder: how they start on the stand-ins, and what their reports must and must not say."""
import dataclasses
import json
import pathlib

import ddpscope
import wheel
from ports import free_port

SCRIPTS = pathlib.Path(__file__).parent / "jobs"
LOOP = pathlib.Path(__file__).parents[1] / "torch" / "jobs" / "loop.sh"

# Of a job that is to hang NCCL's watchdog is the end, some seconds after all have imported PyTorch.
TIMEOUT_S = 400


@dataclasses.dataclass
class Job:
    script: str
    arguments: list = ()
    ranks: int = 2
    launcher: str = "torchrun"  # "loop": a shell's plain loop; "script": the script starts its ranks itself
    environment: dict = dataclasses.field(default_factory=dict)
    frameworks: bool = False

    @property
    def path(self):
        return SCRIPTS / self.script

    def command(self):
        python = wheel.python(*(["--frameworks"] if self.frameworks else []))
        script = [SCRIPTS / self.script, *map(str, self.arguments)]
        if self.launcher == "script":
            return [python, *script]
        if self.launcher == "loop":
            return ["env", f"LOCAL_WORLD_SIZE={self.ranks}", "sh", LOOP, str(self.ranks), str(free_port()), "sh", "-c",
                    'LOCAL_RANK=$RANK exec "$@"', "sh", python, *script]
        return [python, "-m", "torch.distributed.run", "--master-addr", "127.0.0.1", "--master-port", str(free_port()),
                "--monitor-interval", "0.5", "--nproc-per-node", str(self.ranks), *script]


def record(job, folder, code=0, make_data=lambda folder: None):
    """Runs the job under `ddpscope run --cpu` in `folder`; returns its trace. code: None: however it ends."""
    make_data(folder)
    # One thread a rank: PyTorch takes as many as there are cores, for each of them.
    environment = {"OMP_NUM_THREADS": "1", **job.environment}
    done = ddpscope.record(job.command(), folder / "trace", folder, cpu=True, env=environment, timeout=TIMEOUT_S, may_leave=code != 0)
    assert code is None or done.code == code, f"exit code {done.code}\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    assert code != 0 or "loss" in done.stdout, f"the job printed no loss\n{done.stdout}\n{done.stderr[-4000:]}"
    return folder / "trace"


# What a job may leave unjudged because of how it keeps its samples.
SAMPLES = {"unsharded-sampler", "repeated-epoch-order"}


def expect_nothing_found(trace, ranks):
    report = ddpscope.report(trace)
    assert report["findings"] == [], json.dumps(report["findings"], indent=1)[:4000]
    assert report["job"]["ranks"] == ranks
    assert report["job"]["dropped"] == 0
    return report


def expect_finding(trace, slug, ranks, script, text=None, severity=None):
    """The only finding: of these ranks, and at the line of the script that holds `text`, on one of them at least."""
    finding = ddpscope.only_finding(trace, slug)
    assert finding["ranks"] == list(ranks), finding
    assert severity is None or finding["severity"] == severity, finding
    if text:
        line = ddpscope.line_of(SCRIPTS / script, text)
        frames = [frame for step in finding["evidence"] for frame in step.get("stack", [])]
        assert any(f"{script}:{line} " in frame for frame in frames), (line, frames)
    return finding


def evidence_of(finding, rank):
    return [step for step in finding["evidence"] if step["rank"] == rank]


def not_checked(report):
    """Slug to the reasons why it was not checked."""
    reasons = {}
    for row in report["coverage"]:
        for slug in row["unjudged"]:
            reasons.setdefault(slug, []).append(row["why"])
    return reasons
