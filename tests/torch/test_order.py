"""What orders the ranks of real PyTorch jobs besides collectives: the jobs are silent, and with the order taken out they are not."""
import random

import ddpscope
import pytest
from jobs import SCRIPTS, Job, run_recorded
from ports import free_port

pytestmark = pytest.mark.parametrize("seed", ddpscope.SEEDS)


def by_store(seed, serve, ranks, *more):
    rng = ddpscope.draw(seed, f"store/{serve}/{ranks}")
    arguments = [f"out{rng.randrange(100)}", "--serve", serve, "--rounds", rng.choice([2, 3]),
                 *(["--port", free_port()] if serve == "rank0" else []), *more]
    return Job("sync_by_store.py", ranks=ranks, arguments=arguments), rng


@pytest.mark.parametrize("serve,ranks", [("rank0", 2), ("rank0", 4), *(pytest.param("agent", ranks, marks=pytest.mark.long) for ranks in (2, 4))])
def test_a_store_alone_orders(tmp_path, serve, ranks, seed):
    job, rng = by_store(seed, serve, ranks, "--beat", random.Random(seed).choice([0, 0.02, 0.1]))
    report = ddpscope.report(run_recorded(job, tmp_path))
    assert report["findings"] == []
    assert not any("missing-barrier" in row["unjudged"] for row in report["coverage"]), report["coverage"]


@pytest.mark.parametrize("serve,ranks", [("agent", 2), ("agent", 4), *(pytest.param("rank0", ranks, marks=pytest.mark.long) for ranks in (2, 4))])
def test_a_wait_left_out_is_a_missing_barrier(tmp_path, serve, ranks, seed):
    forget = random.Random(f"{seed}/{serve}/{ranks}").choice(["wait", "count"])
    job, rng = by_store(seed, serve, ranks, "--beat", "0.05", "--forget", forget)
    found = ddpscope.report(run_recorded(job, tmp_path))["findings"]
    assert [(f["slug"], f["confidence"]) for f in found] == [("missing-barrier", "certain")]
    assert found[0]["ranks"] == list(range(ranks))
    script = str(SCRIPTS / "sync_by_store.py")
    stacks = [" ".join(evidence["stack"]) for evidence in found[0]["evidence"]]
    assert all(f"{script}:" in stack for stack in stacks), stacks
    reads = "main.<locals>.<genexpr>" if forget == "count" else "main"
    assert any(stack.split()[1] == reads or reads in stack for stack in stacks), stacks
