"""Records jobs that use a released SpeechBrain: `environment.sh --speechbrain` has several versions, each in its own folder."""
import pathlib

import ddpscope
import pytest
import wheel
from ports import free_port

LOOP = pathlib.Path(__file__).parents[1] / "torch" / "jobs" / "loop.sh"
SCRIPTS = pathlib.Path(__file__).parent / "jobs"

broken = pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
FIXED = ["1.0.2", pytest.param("1.1.2", marks=pytest.mark.long)]  # where it was mended, and what is newest


def record(version, script, folder, *arguments, by="torchrun", ranks=2, cpu=False, code=0):
    """The report of these ranks in the folder.

    by: "nodes": two launchers; "loop": no launcher, which would end rank 0 when rank 1 fails. cpu: on the stand-ins of CUDA and NCCL.
    code: None: however the job ends.
    """
    python = wheel.python("--speechbrain")
    released = python.parents[1] / "packages" / f"speechbrain-{version}" / "site-packages"
    if by == "nodes":
        launcher = ["sh", SCRIPTS / "two_nodes.sh", python, str(free_port()), str(ranks // 2)]
    elif by == "loop":
        launcher = ["sh", LOOP, str(ranks), str(free_port()), python]
    else:
        launcher = [python, "-m", "torch.distributed.run", "--master_addr", "127.0.0.1", "--master_port", str(free_port()),
                    "--monitor_interval", "0.5", "--nproc_per_node", str(ranks)]
    done = ddpscope.record([*launcher, SCRIPTS / script, "out", *arguments], folder / "trace", folder, cpu=cpu, may_leave=code != 0,
                           env={"PYTHONPATH": str(released), "OMP_NUM_THREADS": "1"})
    assert code is None or done.code == code, done.stderr[-4000:]
    report = ddpscope.report(folder / "trace")
    assert report["job"]["ranks"] == ranks, report["job"]
    return report


def expect_silence(version, script, folder, *arguments, **how):
    report = record(version, script, folder, *arguments, **how)
    assert report["findings"] == [], report["findings"]


def expect(report, slug, script, *texts, confidence="certain"):
    """The finding, which must be the only one and an error, and shows these lines of the script."""
    finding, = report["findings"]
    assert (finding["slug"], finding["severity"], finding["confidence"]) == (slug, "error", confidence), finding
    frames = [frame for rank in range(report["job"]["ranks"]) for frame in ddpscope.frames(finding, rank)]
    for line in lines_of(script, *texts):
        assert any(line in frame for frame in frames), (line, finding)
    return finding


def lines_of(script, *texts):
    """"FILE:LINE ", as frames and titles have it."""
    return [f"{script}:{ddpscope.line_of(SCRIPTS / script, text)} " for text in texts]


def in_package(finding, file, rank):
    """Whether the evidence about the rank has a frame in this file of SpeechBrain."""
    return any(f"/site-packages/speechbrain/{file}:" in frame for frame in ddpscope.frames(finding, rank))
