"""coqui-tts-trainer 0.4.0 trains `DistributedDataParallel(model).module`: no gradient is ever reduced."""
import os
import pathlib

import ddpscope
import pytest
import wheel
from ports import free_port

SCRIPT = pathlib.Path(__file__).parent / "jobs" / "coqui_regression.py"


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
def test_gradients_are_never_reduced_and_all_ranks_write(tmp_path, ranks):
    python = wheel.python("--wild")
    environment = {"PATH": f"{python.parent}:{os.environ['PATH']}", "JOB_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    done = ddpscope.record([python, "-m", "trainer.distribute", "--script", SCRIPT, "--gpus", ",".join(map(str, range(ranks)))], tmp_path / "trace", tmp_path,
                           cpu=True, env=environment, timeout=300)
    assert done.code == 0, done.stderr[-4000:]
    findings = {finding["slug"]: finding for finding in ddpscope.report(tmp_path / "trace")["findings"]}
    # Each rank names its folder by the minute: where the next one began in between, they write into two.
    together = len(list((tmp_path / "out").iterdir())) == 1
    assert set(findings) == {"missing-gradient-sync", *(["duplicate-checkpoint-write"] if together else [])}, findings
    line = ddpscope.line_of(SCRIPT, "Trainer(TrainerArgs()")
    for finding in findings.values():
        assert finding["ranks"] == list(range(ranks)) and finding["severity"] == "error", finding
        assert any(f"{SCRIPT.name}:{line} " in frame for frame in ddpscope.frames(finding, 0)), finding
    assert not together or any(file.endswith("config.json") for file in findings["duplicate-checkpoint-write"]["files"])
