"""How many readings a report on shared samples tells: those that are compared (docs/findings/unsharded-sampler.md)."""

import json

from command_line import compile_trace, ddpscope

STEPS, BATCH, MODEL = 20, 4, 102400


def record(step, i):
    """Shuffled; one is read right behind its neighbour in the file."""
    number = step * BATCH + i
    return 38 if number == 2 else number * 37 % 101  # 37 is read before it


def rank(own, peer, read_at=lambda step, i: 1 + step * 0.05 + i * 0.0005):
    lines = [f"process r{own} rank={own} world=2 until=9",
             f'r{own}/2 0.2 +0.001 connect inode={500 + own} local="10.0.0.1:{4000 + own}" peer="10.0.0.1:{4000 + peer}" fd=9 family=2',
             f'r{own} 0.6 +0.001 open path="/data/train.bin" flags=rdonly file=1 stack="data.py:12 __getitem__"']  # fmt: skip
    for step in range(STEPS):
        for i in range(BATCH):
            at, offset = read_at(step, i), record(step, i) * 1000
            lines.append(f"r{own} {at:.4f} +0.0001 read file=1 offset={offset} bytes=1000 next={offset + 1000}")
        lines.append(f"r{own}/2 {1.015 + step * 0.05:.4f} +0.002 socket_writev inode={500 + own} bytes={MODEL} count=20")
        lines.append(f"r{own}/2 {1.018 + step * 0.05:.4f} +0.002 recv inode={500 + own} bytes={MODEL} count=20")
    return lines


def test_reads_that_are_no_samples_are_counted(tmp_path):
    """All are before the first step, as where data is read into memory: there are many, and none is in a step."""
    loaded = {"read_at": lambda step, i: 0.61 + (step * BATCH + i) * 0.001}
    trace = compile_trace("\n".join(rank(0, 1, **loaded) + rank(1, 0, **loaded)) + "\n", tmp_path / "trace")
    report = json.loads(ddpscope("report", trace, "--only", "unsharded-sampler", "--format", "json").stdout)
    assert report["findings"] == []
    (why,) = [row["why"] for row in report["coverage"] if row["what"] == "the samples that ranks train on"]
    assert why.startswith(f"ranks were seen to read data, one at {STEPS * BATCH - 1} places in files, but not step by step"), why


def test_readings_that_are_not_compared_are_not_told(tmp_path):
    """Rank 0 sends its model before it reads, rank 1 sends nothing before its first gradients: its first batch may be anything."""
    handed_over = [f"r0/2 0.7 +0.002 socket_writev inode=500 bytes={MODEL} count=1", f"r1/2 0.7 +0.002 recv inode=501 bytes={MODEL} count=1"]
    trace = compile_trace("\n".join([*rank(0, 1), *rank(1, 0), *handed_over]) + "\n", tmp_path / "trace")
    report = json.loads(ddpscope("report", trace, "--only", "unsharded-sampler", "--format", "json").stdout)
    (finding,) = report["findings"]
    one_with_its_neighbour = STEPS * BATCH - 1
    told = {of["rank"]: of["detail"] for of in finding["evidence"]}
    assert told[0].startswith(f"one of {one_with_its_neighbour} compared readings of samples by the rank;"), told
    assert told[1].startswith(f"one of {one_with_its_neighbour - (BATCH - 1)} compared readings of samples by the rank;"), told
