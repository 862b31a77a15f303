"""A model's loss is that of the CPU, and does not depend on how the model is spread over ranks."""
import json
import re

import ddpscope
import nccl_jobs
import pytest
import wheel
from nccl_jobs import Job

each_variant = pytest.mark.parametrize("variant", ["compiled", pytest.param("python", marks=pytest.mark.long)])

# Operators that exist for CUDA only are written with others, and round otherwise.
ROUNDED = {"gru", "rms norm"}


def json_of(stdout):
    return json.loads(next(line for line in stdout.splitlines() if line.startswith("{")))


@each_variant
def test_losses_are_those_of_the_cpu(variant, tmp_path):
    environment = {"STANDIN_TORCH": variant, "OMP_NUM_THREADS": "1"}
    done = ddpscope.record([wheel.python(), nccl_jobs.SCRIPTS / "model_losses.py"], tmp_path / "trace", tmp_path, cpu=True,
                           env=environment, timeout=600)
    assert done.code == 0, done.stderr[-4000:]
    assert "no CPU body" not in done.stderr
    seen = json_of(done.stdout)
    for name, losses in seen["losses"].items():
        assert losses["cpu"][0] != losses["cpu"][-1], name  # it learns
        if name in ROUNDED:
            assert losses["cuda"] == pytest.approx(losses["cpu"], rel=1e-6), name
        else:
            assert losses["cuda"] == losses["cpu"], name
    facts = seen["dropout"]
    assert facts.pop("share kept") == pytest.approx(0.75, abs=0.06)
    assert facts.pop("scale") == pytest.approx(1 / 0.75)
    assert all(facts.values()), facts
    assert seen["graph"] == [[3.0] * 4, [6.0] * 4]
    expect_call_sites_of_the_program(tmp_path)


def expect_call_sites_of_the_program(folder):
    """Where operators are Python code, its frames are not among those that are recorded."""
    calls = ddpscope.start([ddpscope.DDPSCOPE, "dump", folder / "trace"], folder).stdout.splitlines()
    launches = [line for line in calls if " cudaLaunchKernel " in line]
    assert any('name="aten::addmm"' in line for line in launches) and len(launches) > 500
    assert any("model_losses.py:" in line for line in launches)
    # A thread of autograd has no frame of Python now and then: then its native frames show, of compiled operators too.
    assert [line for line in launches if re.search(r"/standin_torch/\S+\.py:", line)] == []


@pytest.mark.parametrize("variant,ranks", [
    ("compiled", 2), pytest.param("compiled", 4, marks=pytest.mark.long), pytest.param("python", 2, marks=pytest.mark.long)])
def test_all_ways_to_spread_a_model_train_alike(variant, ranks, tmp_path):
    job = Job("parallel_losses.py", ranks=ranks, environment={"STANDIN_TORCH": variant})
    done = ddpscope.record(job.command(), tmp_path / "trace", tmp_path, cpu=True, timeout=600,
                           env={"OMP_NUM_THREADS": "1", **job.environment})
    assert done.code == 0, done.stderr[-4000:]
    losses = json_of(done.stdout)["loss"]
    assert set(losses) == {"DDP", "FSDP1", "FSDP2", "one process"}
    for way, values in losses.items():
        assert values == pytest.approx(losses["one process"], rel=1e-5), way
