"""Records jobs/lingua_train.py: a language model on replicas of shards, as Lingua trains it."""
import json
import pathlib
import random

import ddpscope
import wheel

SCRIPT = pathlib.Path(__file__).parent / "jobs" / "lingua_train.py"


def record(folder, ranks, *arguments, seed=1):
    """The report of a job in which each data-parallel rank has a chunk to read."""
    rng = random.Random(seed)
    (folder / "out" / "chunks").mkdir(parents=True)
    for number in range(ranks):
        lines = [json.dumps({"tokens": [rng.randrange(64) for _ in range(25)]}) for _ in range(40)]
        (folder / "out" / "chunks" / f"fineweb.chunk.{number:02}.jsonl").write_text("\n".join(lines) + "\n")
    done = ddpscope.record([wheel.python(), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), SCRIPT, "out",
                            *arguments], folder / "trace", folder, env={"OMP_NUM_THREADS": "1"}, timeout=300)
    assert done.code == 0, done.stderr[-4000:]
    report = ddpscope.report(folder / "trace")
    assert report["job"]["ranks"] == ranks, report["job"]
    assert not any("torch_values_unread" in row["what"] for row in report["coverage"]), report["coverage"]
    return report
