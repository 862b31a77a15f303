"""Who writes against where: RANK 0 or the first rank of each host, on a shared file system or on each host's own disk."""
import re

import ddpscope
import hosts
import pytest
import trainer
from several_hosts import REMAINS, assert_trained, fault, pair, sizes, train

OPENING = trainer.place("atomic_file.cpp", "O_RDONLY")


def draw_of(seed, name, ranks_per_host):
    return trainer.Draw(seed, name, 2 * ranks_per_host)


def first_ranks(draw):
    return [0, draw.ranks // 2]


def of_second_host(draw):
    return list(range(draw.ranks // 2, draw.ranks))


@sizes
@pytest.mark.parametrize("twin", ["", "read-back", "sharded-checkpoint", "rotation-between-barriers"])
def test_rank_0_writes_to_what_all_share(tmp_path, pair, twin, ranks_per_host, seed):
    draw = draw_of(seed, f"shared {twin}", ranks_per_host)
    assert_trained(train(pair, draw, pair[0].shared / "job", tmp_path / "trace", *(["--twin", twin] if twin else [])))
    trainer.assert_silent(tmp_path / "trace", perhaps=REMAINS)


@sizes
def test_each_host_writes_to_its_own_disk(tmp_path, pair, ranks_per_host, seed):
    draw = draw_of(seed, "own disks", ranks_per_host)
    trace = tmp_path / "trace"
    assert_trained(train(pair, draw, pair[0].local / "job", trace, "--twin", "once-per-host"))
    trainer.assert_silent(trace, perhaps=REMAINS)
    for host in pair:
        assert list(host.seen_from_outside(host.local).glob("job/checkpoints/step_*")), "each has its own"


def fails_as_it_is_issued(trace):
    """A rank's collective, because the others had ended before: it waits for nobody then."""
    dumped = ddpscope.start([ddpscope.DDPSCOPE, "dump", trace], cwd=trace).stdout
    return re.search(r" rank \d+ thread \d+ nccl\w+ .*\bresult=[1-9]", dumped) is not None


def assert_on_the_wrong_disk(trace, draw, ended, file, place):
    finding = ddpscope.only_finding(trace, "rank-mismatch")
    assert finding["ranks"] == of_second_host(draw)
    assert (finding["severity"], finding["confidence"]) == ("error", "certain")
    assert finding["consequences"] == ["hung-collective"] or fails_as_it_is_issued(trace)
    assert file in finding["title"] and "on host1 for" in finding["title"] and place in finding["title"]
    for rank in of_second_host(draw):
        trainer.assert_at(finding, rank, "open", OPENING)
        assert ended[rank].code == 1 and "No such file" in ended[rank].stderr
    written = finding["evidence"][0]
    assert written["rank"] == 0 and written["process"].startswith("host0:") and written["file"].endswith(file)


@sizes
def test_rank_0_prepares_on_its_own_disk(tmp_path, pair, ranks_per_host, seed):
    draw = draw_of(seed, "data on one disk", ranks_per_host)
    ended = train(pair, draw, pair[0].local / "job", tmp_path / "trace")
    assert_on_the_wrong_disk(tmp_path / "trace", draw, ended, "/data/manifest.txt", "corpus.cpp")


@sizes
def test_rank_0_saves_on_its_own_disk(tmp_path, pair, ranks_per_host, seed):
    draw = draw_of(seed, "checkpoint on one disk", ranks_per_host)
    ended = fault(pair, draw, pair[0].local / "job", tmp_path / "trace", "rank-mismatch/one-writer")
    assert_on_the_wrong_disk(tmp_path / "trace", draw, ended, "/checkpoints/latest", "checkpoint_folder.cpp")


@sizes
def test_each_host_prepares_on_what_all_share(tmp_path, pair, ranks_per_host, seed):
    draw = draw_of(seed, "data twice", ranks_per_host)
    fault(pair, draw, pair[0].shared / "job", tmp_path / "trace", "duplicate-checkpoint-write/local-rank-data")
    finding = ddpscope.only_finding(tmp_path / "trace", "duplicate-checkpoint-write")
    assert finding["ranks"] == first_ranks(draw) and finding["severity"] == "error"
    for rank in first_ranks(draw):
        frames = ddpscope.frames(finding, rank)
        assert any("write_training_data" in frame for frame in frames), frames
    assert any("/data/" in step.get("file", "") for step in finding["evidence"])
    assert "LOCAL_RANK" in finding["advice"]


@sizes
def test_each_host_saves_on_what_all_share(tmp_path, pair, ranks_per_host, seed):
    draw = draw_of(seed, "two savers", ranks_per_host)
    assert_trained(fault(pair, draw, pair[0].shared / "job", tmp_path / "trace", "duplicate-checkpoint-write/local-rank"))
    finding = ddpscope.only_finding(tmp_path / "trace", "duplicate-checkpoint-write")
    assert finding["ranks"] == first_ranks(draw) and finding["severity"] == "error"
    assert any("/checkpoints/step_" in step.get("file", "") for step in finding["evidence"])


@sizes
def test_each_host_deletes_on_what_all_share(tmp_path, pair, ranks_per_host, seed):
    draw = draw_of(seed, "two deleters", ranks_per_host)
    ended = fault(pair, draw, pair[0].shared / "job", tmp_path / "trace", "checkpoint-race/local-rank")
    assert any(done.code for done in ended), "one of two deleters finds nothing"
    finding = ddpscope.only_finding(tmp_path / "trace", "checkpoint-race")
    assert set(finding["ranks"]) == set(first_ranks(draw)) and finding["severity"] == "error"
    deleted = [step for step in finding["evidence"] if step["call"] in ("remove", "unlink")]
    assert deleted and all("/checkpoints/step_" in step["file"] for step in deleted)


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_one_folder_mounted_in_two_places(tmp_path, pair, seed):
    draw = draw_of(seed, "two places", 2)
    other = tmp_path / "elsewhere"
    other.mkdir()
    (pair[0].seen_from_outside(pair[0].shared) / "runs").mkdir()
    mounted, = hosts.finish([pair[1].start(["mount", "--bind", pair[1].shared / "runs", other])])
    assert mounted.code == 0, mounted.stderr
    where = [pair[0].shared / "runs/job", pair[0].shared / "runs/job", other / "job", other / "job"]
    train(pair, draw, "set below", tmp_path / "trace", "--fault", "duplicate-checkpoint-write/local-rank-data",
          more=lambda rank: ["--workdir", where[rank]])
    finding = ddpscope.only_finding(tmp_path / "trace", "duplicate-checkpoint-write")
    assert finding["ranks"] == [0, 2] and "all write the same file" in finding["title"]


@sizes
def test_a_launcher_that_numbers_each_hosts_ranks(tmp_path, pair, ranks_per_host, seed):
    draw = draw_of(seed, "RANK is LOCAL_RANK", ranks_per_host)
    environment = lambda rank: {"RANK": str(rank % ranks_per_host)}
    assert_trained(train(pair, draw, pair[0].shared / "job", tmp_path / "trace", environment=environment,
                         more=lambda rank: ["--rank", rank]))
    finding = ddpscope.only_finding(tmp_path / "trace", "rank-mismatch")
    assert finding["ranks"] == of_second_host(draw) and finding["confidence"] == "certain"
    assert "2 of them have RANK 0" in finding["title"]


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_numbers_that_collide_across_hosts(tmp_path, pair, seed):
    draw = draw_of(seed, "dp-rank", 4)
    assert_trained(fault(pair, draw, pair[0].shared / "job", tmp_path / "trace", "rank-mismatch/dp-rank"))
    finding = ddpscope.only_finding(tmp_path / "trace", "rank-mismatch")
    assert finding["ranks"] == [2, 3, 4, 5]
    assert "nobody has 6 and 7" in finding["title"]
    assert finding["consequences"] == ["duplicate-checkpoint-write", "unsharded-sampler"]


def test_faults_of_several_hosts_are_refused_on_one():
    for name in ["duplicate-checkpoint-write/local-rank", "checkpoint-race/local-rank", "rank-mismatch/one-writer"]:
        done = ddpscope.start([trainer.TRAINER, "--ranks", 2, "--fault", name], trainer.REPOSITORY)
        assert done.code == 2 and "needs several hosts" in done.stderr
