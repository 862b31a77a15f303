"""accelerate 1.15 and transformers 5.23 on Gloo: healthy, and with what their users leave out (environment.sh --frameworks)."""
import pathlib

import ddpscope
import pytest
import wheel
from ports import free_port

pytestmark = pytest.mark.long
SCRIPTS = pathlib.Path(__file__).parent / "jobs"


both = pytest.mark.parametrize("ranks", [2, 4])


def record(script, folder, *arguments, ranks=2):
    command = [wheel.python("--frameworks"), "-m", "torch.distributed.run", "--master_addr", "127.0.0.1", "--master_port", str(free_port()),
               "--nproc_per_node", str(ranks), SCRIPTS / script, "out", *arguments]
    done = ddpscope.record(command, folder / "trace", folder, env={"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}, timeout=400)
    assert done.code == 0, done.stderr[-4000:]
    return ddpscope.report(folder / "trace")


def expect(report, slug, script, text, ranks=None):
    """ranks: without it, all."""
    finding, = report["findings"]
    ranks = ranks or list(range(report["job"]["ranks"]))
    assert finding["slug"] == slug and finding["ranks"] == ranks, finding
    line = f"{script}:{ddpscope.line_of(SCRIPTS / script, text)} "
    assert any(line in frame for rank in ranks for frame in ddpscope.frames(finding, rank)), finding


@pytest.mark.parametrize("script", ["accelerated_clips.py", "trainer_fit.py"])
def test_healthy(tmp_path, script):
    assert record(script, tmp_path)["findings"] == []


@pytest.mark.parametrize("script", ["accelerated_clips.py", "trainer_fit.py"])
@both
def test_all_ranks_save(tmp_path, script, ranks):
    expect(record(script, tmp_path, "--save", "all", ranks=ranks), "duplicate-checkpoint-write", script, "# kept")


@both
def test_micro_batches_are_added_up_by_hand(tmp_path, ranks):
    """Without accumulate() each of them reduces the gradients."""
    expect(record("accelerated_clips.py", tmp_path, "--accumulate", "by-hand", ranks=ranks), "redundant-accumulation-sync",
           "accelerated_clips.py", "# by hand")


@both
def test_a_loader_that_is_not_prepared(tmp_path, ranks):
    """Each rank trains on all clips, in the order for which accelerate seeds them alike; rank 0 has drawn the clips before.

    Of 4 ranks those are named that have one order.
    """
    expect(record("accelerated_clips.py", tmp_path, "--loader", "plain", ranks=ranks), "unsharded-sampler", "accelerated_clips.py",
           "with open(os.path.join(arguments.folder, f\"clip{index}.raw\")", ranks=[1, 2, 3] if ranks == 4 else [0, 1])
