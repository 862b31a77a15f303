"""accelerate 1.15 and transformers 5.23 on Gloo: healthy, and with what their users leave out (environment.sh --frameworks)."""
import pathlib

import ddpscope
import pytest
import wheel
from ports import free_port

pytestmark = pytest.mark.long
SCRIPTS = pathlib.Path(__file__).parent / "jobs"


def record(script, folder, *arguments):
    command = [wheel.python("--frameworks"), "-m", "torch.distributed.run", "--master_addr", "127.0.0.1", "--master_port", str(free_port()),
               "--nproc_per_node", "2", SCRIPTS / script, "out", *arguments]
    done = ddpscope.record(command, folder / "trace", folder, env={"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}, timeout=400)
    assert done.code == 0, done.stderr[-4000:]
    return ddpscope.report(folder / "trace")


def expect(report, slug, script, text):
    finding, = report["findings"]
    assert finding["slug"] == slug and finding["ranks"] == [0, 1], finding
    line = f"{script}:{ddpscope.line_of(SCRIPTS / script, text)} "
    assert any(line in frame for rank in (0, 1) for frame in ddpscope.frames(finding, rank)), finding


@pytest.mark.parametrize("script", ["accelerated_clips.py", "trainer_fit.py"])
def test_healthy(tmp_path, script):
    assert record(script, tmp_path)["findings"] == []


@pytest.mark.parametrize("script", ["accelerated_clips.py", "trainer_fit.py"])
def test_all_ranks_save(tmp_path, script):
    expect(record(script, tmp_path, "--save", "all"), "duplicate-checkpoint-write", script, "# kept")


def test_micro_batches_are_added_up_by_hand(tmp_path):
    """Without accumulate() each of them reduces the gradients."""
    expect(record("accelerated_clips.py", tmp_path, "--accumulate", "by-hand"), "redundant-accumulation-sync",
           "accelerated_clips.py", "# by hand")


def test_a_loader_that_is_not_prepared(tmp_path):
    """Each rank trains on all clips, in the same order: accelerate seeds them alike."""
    expect(record("accelerated_clips.py", tmp_path, "--loader", "plain"), "unsharded-sampler", "accelerated_clips.py",
           "with open(os.path.join(arguments.folder, f\"clip{index}.raw\")")
