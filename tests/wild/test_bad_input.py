"""Jobs that fail before they train: no GPU, a package that cannot be imported, a hub that does not answer, killed while they start."""
import os
import pathlib
import signal
import subprocess
import time

import ddpscope
import pytest
import speechbrain_jobs as jobs
import wheel
from ports import free_port


def run(folder, text, version, env=None):
    """The report, as one line, of two ranks that run the text with this SpeechBrain under torchrun, and the line on which it fails."""
    script = folder / "recipe.py"
    script.write_text(text)
    python = wheel.python("--speechbrain")
    released = python.parents[1] / "packages" / f"speechbrain-{version}" / "site-packages"
    done = ddpscope.record([python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--monitor-interval", "0.5", script],
                           folder / "trace", folder, may_leave=True,
                           env={"PYTHONPATH": f"{released}:{jobs.SCRIPTS}", "OMP_NUM_THREADS": "1", **(env or {})})
    assert done.code == 1, done.stderr[-4000:]
    assert "ddpscope: the job ended with exit code 1" in done.stderr, done.stderr[-4000:]
    # The launcher ends the other rank, which may have done nothing yet.
    told = ddpscope.start([ddpscope.DDPSCOPE, "report", folder / "trace"], cwd=folder)
    assert told.code in (0, 2), told.stdout
    assert told.stdout.startswith("the job failed, and no finding explains it"), told.stdout
    assert "nothing found" in told.stdout, told.stdout
    return " ".join(told.stdout.split()), f"recipe.py:{ddpscope.line_of(script, '# fails')} "


def test_a_package_that_needs_a_gpu(tmp_path):
    """SpeechBrain on NCCL without --cpu."""
    told, line = run(tmp_path, "import speechbrain_import\nfrom speechbrain.utils.distributed import ddp_init_group\n"
                       "ddp_init_group({'distributed_backend': 'nccl'})  # fails\n", "1.0.2", env={"CUDA_VISIBLE_DEVICES": ""})
    assert f"exited with 1 at {tmp_path / line}<module> (ValueError)" in told, told


def test_a_package_that_cannot_be_imported(tmp_path):
    """Release 1.0.1 asks torchaudio for a function that it no longer has."""
    told, line = run(tmp_path, "import torch\nimport speechbrain  # fails\n", "1.0.1")
    assert f"exited with 1 at {tmp_path / line}<module> (AttributeError)" in told, told


def test_a_hub_that_does_not_answer(tmp_path):
    """Rank 0 fetches a model, in a region of the main process; rank 1 waits in the barrier behind it and is ended."""
    told, line = run(tmp_path, "import speechbrain_import\nimport torch\nfrom speechbrain.utils.parameter_transfer import Pretrainer\n"
                       "torch.distributed.init_process_group('gloo')\n"
                       "pretrainer = Pretrainer(collect_in='collected', loadables={'model': torch.nn.Linear(2, 2)})\n"
                       "pretrainer.collect_files('someone/model')  # fails\n", "1.0.2",
                       env={"HF_ENDPOINT": f"http://127.0.0.1:{free_port()}", "HF_HOME": str(tmp_path / "hub")})
    assert "first failure: rank 0" in told and f"exited with 1 at {tmp_path / line}<module> (" in told, told
    assert "rank 1 was sent a signal to end" in told, told


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("seconds", [0.1, 0.5, 1, 2, 3, 4, 6])
def test_a_job_that_is_killed_while_it_starts(tmp_path, seconds, how):
    """Nobody is accused, and the report can be made, whether a rank lived already or not."""
    python = wheel.python("--speechbrain")
    released = python.parents[1] / "packages" / "speechbrain-1.1.2" / "site-packages"
    with open(tmp_path / "log", "w") as log:
        job = subprocess.Popen([ddpscope.DDPSCOPE, "run", "-o", tmp_path / "trace", "--", python, "-m", "torch.distributed.run", "--standalone",
                                "--nproc-per-node", "2", jobs.SCRIPTS / "speechbrain_prepared.py", "out", "--group", "gloo", "--takes", "30"],
                               cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                               env={**os.environ, "PYTHONPATH": str(released), "OMP_NUM_THREADS": "1"})
    time.sleep(seconds)
    family = [job.pid, *ddpscope.descendants(job.pid)]
    for pid in family if how == signal.SIGKILL else [job.pid]:
        os.kill(pid, how)
    if how != signal.SIGKILL:  # as a terminal sends it, to all
        for pid in family[1:]:
            try:
                os.kill(pid, how)
            except ProcessLookupError:
                pass
    job.wait(timeout=60)
    done = ddpscope.start([ddpscope.DDPSCOPE, "report", tmp_path / "trace", "--format", "json"], cwd=tmp_path)
    assert done.code in (0, 2), done.stdout + done.stderr
    if done.code == 2:  # no rank had begun: said in words
        assert "error: " in done.stderr and "hint: " in done.stderr, done.stderr
    else:
        assert '"findings": []' in done.stdout or '"findings":[]' in done.stdout, done.stdout[:3000]
