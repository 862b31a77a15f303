"""A PyTorch job in which every rank saves the same checkpoint: found, with the ranks, the file and the line."""
import json

import ddpscope
import pytest
from jobs import SCRIPTS, Job, run_recorded


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_every_rank_saves_the_same_checkpoint(tmp_path, seed):
    rng = ddpscope.draw(seed, "duplicate")
    ranks = rng.choice([2, 3, 4])
    epochs = rng.randrange(2, 5)
    config = {"snapshot_dir": f"out/{rng.choice(['ckpt', 'weights', 'run'])}{rng.randrange(100)}",
              "name": f"{rng.choice(['snapshot', 'last', 'model'])}.pt", "width": rng.randrange(64, 192),
              "epochs": epochs, "save_at": rng.randrange(epochs), "samples": ranks * 8 * rng.randrange(3, 7),
              "seed": rng.randrange(1000)}
    trace = run_recorded(Job("pretrain_trainer.py", [json.dumps(config)], ranks), tmp_path)

    finding = ddpscope.only_finding(trace, "duplicate-checkpoint-write")
    path = f"{config['snapshot_dir']}/{config['name']}"
    line = ddpscope.line_of(SCRIPTS / "pretrain_trainer.py", "torch.save(snapshot, path)")
    assert finding["ranks"] == list(range(ranks))
    for rank in range(ranks):
        files = {step["file"] for step in finding["evidence"] if step["rank"] == rank and step.get("file")}
        assert any(file.endswith(path) for file in files), f"rank {rank}: {files}"
        assert any(f"pretrain_trainer.py:{line} Trainer._save_snapshot" in frame for frame in ddpscope.frames(finding, rank))


@pytest.mark.long
def test_every_rank_saves_it_under_its_own_name(tmp_path):
    """A model of 430 KB; torch.save writes the file's name in front of each of its tensors."""
    config = {"snapshot_dir": "out", "name": "model-{rank}.pt", "width": 160, "samples": 48, "seed": 3}
    trace = run_recorded(Job("pretrain_trainer.py", [json.dumps(config)]), tmp_path)
    finding = ddpscope.only_finding(trace, "duplicate-checkpoint-write")
    assert finding["ranks"] == [0, 1] and "the same content under another name" in finding["title"]
    assert sorted(file.rsplit("/", 1)[1] for file in finding["files"]) == ["model-0.pt", "model-1.pt"]


@pytest.mark.parametrize("seed", ddpscope.SEEDS)
def test_every_rank_saves_the_whole_model_as_safetensors(tmp_path, seed):
    pytest.importorskip("safetensors")
    rng = ddpscope.draw(seed, "safetensors-whole")
    ranks, folder = rng.choice([2, 3]), f"model{rng.randrange(100)}"
    job = Job("safetensors_shards.py", ranks=ranks, launcher="loop", arguments=[folder, "--whole", "--width", rng.randrange(48, 96)])
    finding = ddpscope.only_finding(run_recorded(job, tmp_path), "duplicate-checkpoint-write")
    line = ddpscope.line_of(SCRIPTS / "safetensors_shards.py", 'save_file(layers, args.folder / "model.safetensors"')
    assert finding["ranks"] == list(range(ranks))
    for rank in range(ranks):
        files = {step["file"] for step in finding["evidence"] if step["rank"] == rank and step.get("file")}
        assert any(file.endswith(f"{folder}/model.safetensors") for file in files), f"rank {rank}: {files}"
        assert any(f"safetensors_shards.py:{line} save_whole" in frame for frame in ddpscope.frames(finding, rank))
