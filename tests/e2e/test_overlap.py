"""Buckets that are reduced while the backward pass runs: how much of them it hides is what the link's and the kernels' models
say, to 5 %, by events and by CUPTI.

All times are tens of milliseconds: a busy machine adds one or two to each sleep. A step is judged on the rank that comes
last to it, as the others' collectives also wait for that one.
"""
import statistics

import ddpscope
import pytest
import records
import trainer

RANKS, STEPS = 2, 5
WIDTH, VOCABULARY, EMBEDDING, CONTEXT = 64, 128, 16, 8
LATENCY_MS, BYTES_PER_MS = 60, 500
KERNEL_MS = 40  # of each linear or tanh kernel

# Gradients as they come to be known, last layer first: floats, and after how many kernels of the backward pass.
PARAMETERS = [(WIDTH * VOCABULARY, 3), (VOCABULARY, 3), (WIDTH * WIDTH, 7), (WIDTH, 7), (CONTEXT * EMBEDDING * WIDTH, 11),
              (WIDTH, 11), (VOCABULARY * EMBEDDING, 12)]


def buckets(bucket_bytes=4096):
    """[(floats, kernels before it)]: parameters in their order, a bucket is closed when it is full."""
    made, floats = [], 0
    for count, kernels in PARAMETERS:
        floats += count
        if 4 * floats >= bucket_bytes:
            made.append((floats, kernels))
            floats = 0
    return made


def modelled(last_kernel_ms):
    """[(begin, end)] of the collectives and the end of the backward pass, in ms since its begin."""
    spans, free = [], 0
    ended = {kernels: kernels * KERNEL_MS for kernels in (3, 7, 11)}
    ended[12] = 11 * KERNEL_MS + last_kernel_ms
    for floats, kernels in buckets():
        begin = max(ended[kernels], free)
        free = begin + LATENCY_MS + 2 * (RANKS - 1) / RANKS * 4 * floats / BYTES_PER_MS
        spans.append((begin, free))
    return spans, ended[12]


def hidden(spans, until):
    return sum(max(0, min(end, until) - begin) for begin, end in spans)


def total(spans):
    return sum(end - begin for begin, end in spans)


def train(folder, tier, last_kernel_ms):
    job = [trainer.TRAINER, "--ranks", RANKS, "--epochs", 1, "--batch", 4, "--accumulate", 1, "--samples", RANKS * 4 * STEPS,
           "--width", WIDTH, "--embedding", EMBEDDING, "--context", CONTEXT, "--layers", 2, "--bucket-bytes", 4096, "--workers", 1,
           "--timeout", 60, "--workdir", folder / "job"]
    kernels = {"embed_backward": last_kernel_ms, "linear": KERNEL_MS, "tanh": KERNEL_MS}
    models = {"STANDIN_LINK": f"{LATENCY_MS}ms,{BYTES_PER_MS}KB/s",
              "STANDIN_KERNEL_NS": ",".join(f"{name}={ms * 1_000_000}" for name, ms in kernels.items())}
    done = ddpscope.start([ddpscope.DDPSCOPE, "run", "--cpu", "--gpu-timing", tier, "-o", folder / "trace", "--", *job], folder,
                          env=models)
    assert done.code == 0, done.stderr[-3000:]
    return folder / "trace"


def reductions(trace, work):
    """{rank: [(begin, end)] of its buckets' device work, in ms}, in their order."""
    sizes = {floats for floats, _ in buckets()}
    calls = [record for record in records.read(trace) if record.call == "ncclAllReduce" and record["count"] in sizes]
    begins = {(call.rank, round(call.begin, 6)) for call in calls}
    found = {}
    for one in sorted(work, key=lambda one: one.begin):
        if one.get("call") == "ncclAllReduce" and (one.rank, round(float(one["at"]), 6)) in begins:
            found.setdefault(one.rank, []).append((1e3 * one.begin, 1e3 * one.end))
    return found


def steps(trace, work):
    """[(rank that came last, [(begin, end)])] of the steps but the first, which pays for what is set up lazily."""
    found, count = reductions(trace, work), len(buckets())
    assert {rank: len(spans) for rank, spans in found.items()} == {rank: count * STEPS for rank in range(RANKS)}
    for step in range(1, STEPS):
        spans = {rank: all_spans[count * step:count * (step + 1)] for rank, all_spans in found.items()}
        rank = max(spans, key=lambda rank: spans[rank][0])
        yield rank, spans[rank]


def judge(measured, last_kernel_ms):
    """measured: [(spans, end of the backward pass)], of each step."""
    spans, until = modelled(last_kernel_ms)
    assert 0 < hidden(spans, until) < total(spans)
    overlap = statistics.median(hidden(*step) for step in measured)
    share = statistics.median(hidden(*step) / total(step[0]) for step in measured)
    assert overlap == pytest.approx(hidden(spans, until), rel=0.05)
    assert share == pytest.approx(hidden(spans, until) / total(spans), rel=0.05)


# A last kernel as long as the collective before it, and one that ends while that one still runs.
@pytest.mark.parametrize("last_kernel_ms", [200, 80])
def test_overlap_by_cupti(tmp_path, last_kernel_ms):
    trace = train(tmp_path, "cupti", last_kernel_ms)
    work = records.device_work(trace)
    ends = {rank: [1e3 * one.end for one in work if one.rank == rank and one.get("name") == "embed_backward"] for rank in range(RANKS)}
    measured = [(spans, ends[rank][step]) for step, (rank, spans) in enumerate(steps(trace, work), 1)]
    judge(measured, last_kernel_ms)
    # In the dump a collective lies beside the backward pass's kernels.
    kernels = [one for one in work if str(one.get("name")).startswith("linear_backward")]
    rank, spans = next(steps(trace, work))
    begin, end = (1e-3 * ms for ms in spans[0])
    assert sum(one.rank == rank and one.begin < end and one.end > begin for one in kernels) >= 2


def test_overlap_by_events(tmp_path):
    """Events do not time kernels: the last bucket begins when the backward pass has ended, if no other is in its way."""
    trace = train(tmp_path, "events", 200)
    measured = [(spans, spans[-1][0]) for _, spans in steps(trace, records.device_work(trace))]
    judge(measured, 200)
