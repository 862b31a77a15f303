"""coqui-tts-trainer 0.4.0 trains `DistributedDataParallel(model).module`: no gradient is ever reduced."""
import os
import pathlib
import subprocess

import ddpscope
import pytest
import wheel
from ports import free_port

SCRIPT = pathlib.Path(__file__).parent / "jobs" / "coqui_regression.py"


CLIPS = """import os, torch
os.mkdir("clips")
for number in range(160):
    torch.save((torch.randn(32), torch.randn(1)), f"clips/{number}.pt")
"""


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
def test_gradients_are_never_reduced_nor_samples_dealt_out_and_all_ranks_write(tmp_path, ranks):
    """All ranks begin with one seed, and the recipe's loader deals nothing out: they train on the same samples, too."""
    python = wheel.python("--wild")
    subprocess.run([python, "-c", CLIPS], cwd=tmp_path, check=True, timeout=120)
    environment = {"PATH": f"{python.parent}:{os.environ['PATH']}", "JOB_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    done = ddpscope.record([python, "-m", "trainer.distribute", "--script", SCRIPT, "--gpus", ",".join(map(str, range(ranks)))], tmp_path / "trace", tmp_path,
                           cpu=True, env=environment, timeout=300)
    assert done.code == 0, done.stderr[-4000:]
    findings = {finding["slug"]: finding for finding in ddpscope.report(tmp_path / "trace")["findings"]}
    # Each rank names its folder by the minute: where the next one began in between, they write into two.
    together = len(list((tmp_path / "out").iterdir())) == 1
    assert set(findings) == {"missing-gradient-sync", "unsharded-sampler", *(["duplicate-checkpoint-write"] if together else [])}, findings
    for slug, finding in findings.items():
        line = ddpscope.line_of(SCRIPT, "torch.load(" if slug == "unsharded-sampler" else "Trainer(TrainerArgs()")
        assert finding["ranks"] == list(range(ranks)) and finding["severity"] == "error", finding
        assert any(f"{SCRIPT.name}:{line} " in frame for frame in ddpscope.frames(finding, 0)), finding
    assert not together or any(file.endswith("config.json") for file in findings["duplicate-checkpoint-write"]["files"])
