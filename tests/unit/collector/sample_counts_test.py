"""How many readings a report on shared samples tells: those that are compared (docs/findings/unsharded-sampler.md)."""

import json

from command_line import compile_trace, ddpscope

STEPS, BATCH = 20, 4


def record(step, i):
    """Shuffled; one is read right behind its neighbour in the file."""
    number = step * BATCH + i
    return 38 if number == 2 else number * 37 % 101  # 37 is read before it


def rank(own, read_at=lambda step, i: 1 + step * 0.05 + i * 0.0005):
    lines = [f"process r{own} rank={own} world=2 until=9",
             f'r{own} 0.1 +0.05 c10d_group communicator=1 id=0xabc name="default_pg/0/cpu" backend="gloo" rank={own} size=2',
             f'r{own} 0.6 +0.001 open path="/data/train.bin" flags=rdonly file=1 stack="data.py:12 __getitem__"']  # fmt: skip
    for step in range(STEPS):
        for i in range(BATCH):
            at, offset = read_at(step, i), record(step, i) * 1000
            lines.append(f"r{own} {at:.4f} +0.0001 read file=1 offset={offset} bytes=1000 next={offset + 1000}")
        at = 1.015 + step * 0.05
        lines += [f'r{own} {at:.4f} +0.005 autograd_backward flags=accumulate stack="train.py:61 train"',
                  f"r{own} {at + 0.0005:.4f} +0.0001 reducer_gradients object=0x10",
                  f"r{own} {at + 0.001:.4f} +0.0001 c10d_allreduce communicator=1 count=25600 datatype=f32 reduction=sum "
                  'flags=asynchronous|reducer peer=-1 stack="train.py:61 train"',
                  f"r{own} {at + 0.003:.4f} +0.001 reducer_finish object=0x10",
                  f'r{own} {at + 0.015:.4f} +0.002 optimizer_step name="Optimizer.step#SGD.step" stack="train.py:62 train"',
                  f'r{own} {at + 0.02:.4f} +0.001 optimizer_zero_grad name="Optimizer.zero_grad#SGD.zero_grad" stack="train.py:63 train"']
    return lines


def test_reads_that_are_no_samples_are_told_from_none(tmp_path):
    """All are before the first step, as where data is read into memory: there are many, and none is in a step."""
    loaded = {"read_at": lambda step, i: 0.61 + (step * BATCH + i) * 0.001}
    trace = compile_trace("\n".join(rank(0, **loaded) + rank(1, **loaded)) + "\n", tmp_path / "trace")
    report = json.loads(ddpscope("report", trace, "--only", "unsharded-sampler", "--format", "json").stdout)
    assert report["findings"] == []
    (why,) = [row["why"] for row in report["coverage"] if row["what"] == "the samples that ranks train on"]
    assert why.startswith("no rank was seen to read samples in the middle of training"), why


def test_only_what_is_compared_is_told(tmp_path):
    """The first batch may be anything: no reduction came before it. What is read right behind its neighbour is one reading with that."""
    trace = compile_trace("\n".join([*rank(0), *rank(1)]) + "\n", tmp_path / "trace")
    report = json.loads(ddpscope("report", trace, "--only", "unsharded-sampler", "--format", "json").stdout)
    (finding,) = report["findings"]
    of_first_batch, all_of_them = BATCH - 1, STEPS * BATCH - 1
    told = {of["rank"]: of["detail"] for of in finding["evidence"]}
    for own in (0, 1):
        assert told[own].startswith(f"one of {all_of_them - of_first_batch} compared readings of samples by the rank;"), told
