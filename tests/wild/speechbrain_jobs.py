"""Records jobs that use a released SpeechBrain: `environment.sh --speechbrain` has several versions, each in its own folder."""
import pathlib

import ddpscope
import wheel
from ports import free_port

LOOP = pathlib.Path(__file__).parents[1] / "torch" / "jobs" / "loop.sh"
SCRIPTS = pathlib.Path(__file__).parent / "jobs"


def record(version, script, folder, *arguments, by="torchrun", code=0):
    """The report of two ranks in the folder.

    by: "nodes": two launchers; "loop": no launcher, which would end rank 0 when rank 1 fails. code: None: however the job ends.
    """
    python = wheel.python("--speechbrain")
    released = python.parents[1] / "packages" / f"speechbrain-{version}" / "site-packages"
    if by == "nodes":
        launcher = ["sh", SCRIPTS / "two_nodes.sh", python, str(free_port())]
    elif by == "loop":
        launcher = ["sh", LOOP, "2", str(free_port()), python]
    else:
        launcher = [python, "-m", "torch.distributed.run", "--master_addr", "127.0.0.1", "--master_port", str(free_port()),
                    "--monitor_interval", "0.5", "--nproc_per_node", "2"]
    done = ddpscope.record([*launcher, SCRIPTS / script, "out", *arguments], folder / "trace", folder, may_leave=code != 0,
                           env={"PYTHONPATH": str(released), "OMP_NUM_THREADS": "1"})
    assert code is None or done.code == code, done.stderr[-4000:]
    return ddpscope.report(folder / "trace")


def expect(report, slug, script, *texts, confidence="certain"):
    """The finding, which must be the only one and an error, and shows these lines of the script."""
    finding, = report["findings"]
    assert (finding["slug"], finding["severity"], finding["confidence"]) == (slug, "error", confidence), finding
    frames = [frame for rank in (0, 1) for frame in ddpscope.frames(finding, rank)]
    for line in lines_of(script, *texts):
        assert any(line in frame for frame in frames), (line, finding)
    return finding


def lines_of(script, *texts):
    """"FILE:LINE ", as frames and titles have it."""
    return [f"{script}:{ddpscope.line_of(SCRIPTS / script, text)} " for text in texts]


def in_package(finding, file, rank):
    """Whether the evidence about the rank has a frame in this file of SpeechBrain."""
    return any(f"/site-packages/speechbrain/{file}:" in frame for frame in ddpscope.frames(finding, rank))
