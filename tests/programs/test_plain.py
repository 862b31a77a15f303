"""The programs do on the stand-ins what they do on GPUs; with their bug they hang, or overwrite one another's file."""
import ddpscope
import launch
import pytest

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)


def test_one_process_with_all_devices(tmp_path, seed):
    rng = ddpscope.draw(seed, "all_devices")
    done = launch.plainly(launch.all_devices(rng.choice([2, 4, 8]), rng.randrange(1, 50), 20000, 3), tmp_path)
    assert (done.code, done.stdout.splitlines()[-1]) == (0, "OK"), done.stderr


def test_one_process_with_different_counts_hangs(tmp_path, seed):
    done = launch.plainly(launch.all_devices(3, 1024, 4096, 2, 1, 4000, patience=launch.SHORT), tmp_path)
    assert done.code == 124, done.stdout


def test_id_through_a_file(tmp_path, seed):
    done = launch.plainly(launch.id_by_file(4, 5000, 3, 4), tmp_path)
    assert done.code == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["0", "1", "2"]


def test_id_through_a_file_without_one_barrier_hangs(tmp_path, seed):
    done = launch.plainly(launch.id_by_file(3, 5000, 3, 4, 1, 1, patience=launch.SHORT), tmp_path)
    assert done.code == 1
    assert "epoch 2" not in done.stdout


@pytest.mark.parametrize("mode", ["rank0", "all"])
def test_id_over_tcp(tmp_path, seed, mode):
    done = launch.plainly(launch.env_rank(4, "out", "weights.bin", 30000, 3, mode), tmp_path)
    assert done.code == 0, done.stderr
    assert done.stdout.count("equal") == 4
