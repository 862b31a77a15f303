"""The PyTorch jobs of this folder: how each is started, its data, and what of its output must not change.

A thread of Gloo that drops the last reference to a tensor needs the GIL. Torch hangs if the main thread joins that
thread while it holds the GIL (as it does where it ends a process group), and aborts ("terminate called without an active
exception") if the interpreter ends meanwhile. So the jobs keep the tensors of their last collectives until their process
group is destroyed, which needs the models that use it to be gone: `kept = main()` before it.
"""
import dataclasses
import json
import pathlib
import re
import zlib

import ddpscope
import numpy as np
import pytest
import rank_counts
import versions
from ports import free_port

SCRIPTS = pathlib.Path(__file__).parent / "jobs"


@dataclasses.dataclass
class Job:
    script: str
    arguments: list
    ranks: int = 2
    launcher: bool | str = True  # torchrun; "loop": a shell's plain loop; "accelerate"; False: the script starts its ranks itself

    def command(self):
        script = [SCRIPTS / self.script, *map(str, self.arguments)]
        if not self.launcher:
            return [versions.python, *script]
        if self.launcher == "loop":
            return ["sh", SCRIPTS / "loop.sh", str(self.ranks), str(free_port()), versions.python, *script]
        if self.launcher == "accelerate":  # torchrun within; --multi_gpu: several processes, also on CPUs
            return ["env", "PET_REDIRECTS=1", versions.python, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_machines", "1",
                    "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", str(free_port()), "--tee", "1",
                    "--num_processes", str(self.ranks), *script]
        # -r 1 -t 1: torch 1.13's launcher cannot do without a redirection on Python 3.11. Not --standalone: it picks
        # a port of the kernel's range seconds before rank 0 listens there, and other tests take it.
        return [versions.python, "-m", "torch.distributed.run", "--master_addr", "127.0.0.1",
                "--master_port", str(free_port()), "-r", "1", "-t", "1", "--monitor_interval", "0.5", "--nproc_per_node", str(self.ranks), *script]


def run_twice(job, folder, make_data=lambda folder: None):
    """Runs the job plainly and recorded, each in a folder of its own with the same data; returns the trace.

    The recorded run must end, print and write as the plain one does. In CI a third of the scripts are compared.
    """
    compared = rank_counts.LISTED == "all" or zlib.crc32(job.script.encode()) % 3 == 0
    outcomes = {}
    trace = folder / "trace"
    for kind in ("plain", "recorded") if compared else ("recorded",):
        cwd = folder / kind
        cwd.mkdir()
        make_data(cwd)
        if kind == "plain":
            done = ddpscope.start(job.command(), cwd)
        else:
            done = ddpscope.record(job.command(), trace, cwd)
        assert done.code == 0, f"{kind}: exit code {done.code}\n{done.stdout[-2000:]}\n{done.stderr[-12000:]}"
        outcomes[kind] = printed(done.stdout), written(cwd)
    assert not compared or outcomes["recorded"] == outcomes["plain"]
    assert "loss" in "".join(outcomes["recorded"][0]), "the job printed no loss"
    return trace


def run_recorded(job, folder, code=0, make_data=lambda folder: None):
    """Runs the job recorded only, for what has nothing to do with how the preload meets it; returns the trace.

    code: None: however it ends.
    """
    cwd = folder / "recorded"
    cwd.mkdir()
    make_data(cwd)
    done = ddpscope.record(job.command(), folder / "trace", cwd, may_leave=code != 0)
    assert code is None or done.code == code, f"exit code {done.code}\n{done.stdout[-2000:]}\n{done.stderr[-12000:]}"
    assert code != 0 or "loss" in done.stdout, "the job printed no loss"
    return folder / "trace"


# What a job may leave unjudged: its samples, where it does not read them from files one by one; pairs of accesses to
# files, where what could order the two was not recorded.
SAMPLES = {"unsharded-sampler", "repeated-epoch-order"}
FILES = {"missing-barrier", "ineffective-barrier", "checkpoint-race", "divergent-existence-check"}

# What can only be seen of collectives that NCCL runs, and of GPUs, whatever a job on Gloo does, or where no model is wrapped;
# and what is chance.
NOT_SEEN_ON_GLOO = ("process groups without NCCL", "FSDP wraps were recorded", "no call of CUDA's runtime was recorded",
                    # Who is late of short jobs, and of ranks that have to wait for processors.
                    "fewer than 50 of their steps", "waited for processors", "how much of that is lost does not show",
                    "times show which rank was last",
                    # How often a rank steps that does not train with others.
                    "nor steps of PyTorch whose gradients ranks reduce",
                    # Copies of models that nobody wraps, or that make few steps.
                    "that DistributedDataParallel keeps alike were seen")


def expect_nothing_found(trace, ranks, unjudged=()):
    """Nothing is found, and of what the job's own doings leave unjudged nothing but the slugs of `unjudged`."""
    report = ddpscope.report(trace)
    assert report["findings"] == [], json.dumps(report["findings"], indent=1)[:4000]
    assert report["job"]["ranks"] == ranks
    assert report["job"]["dropped"] == 0
    left = {slug for row in report["coverage"] for slug in row["unjudged"]
            if row["why"] != "not in this version" and not any(why in row["why"] for why in NOT_SEEN_ON_GLOO)}
    assert left <= set(unjudged), report["coverage"]


def evidence_of(finding, rank):
    return [step for step in finding["evidence"] if step["rank"] == rank]


def expect_race(trace, script, path, writer, write, readers, read):
    """The writer's line holds the text `write`, the readers' lines `read`; at least one of the readers is shown."""
    finding = ddpscope.only_finding(trace, "missing-barrier")
    lines = {text: ddpscope.line_of(SCRIPTS / script, text) for text in (write, read)}
    shown = [rank for rank in readers if evidence_of(finding, rank)]
    assert shown and set(finding["ranks"]) <= {writer, *readers}, finding["ranks"]
    assert {writer, *shown} <= set(finding["ranks"])
    for rank, text in [(writer, write), *((rank, read) for rank in shown)]:
        steps = evidence_of(finding, rank)
        assert any(path in (step.get("file") or "") for step in steps), f"rank {rank}: {steps}"
        assert any(f"{script}:{lines[text]} " in frame for frame in ddpscope.frames(finding, rank)), f"rank {rank}: {steps}"


def known_gap(trace, why):
    """Stops the test as a known failure where coverage says that this is left unjudged, and why."""
    for row in ddpscope.report(trace)["coverage"]:
        if why in row["what"] + row["why"] and not ddpscope.report(trace)["findings"]:
            pytest.xfail(f"{row['what']}: {row['why']}")


def printed(stdout):
    """The lines of a job without times; ranks print in any order."""
    return sorted(re.sub(r"took [0-9.]+ s", "took T", line) for line in stdout.splitlines())


def written(folder):
    """Name and content of each file below folder; lines of logs come in any order, names of event files hold a time.

    Rows of a database lie in the order in which ranks came: of those only the name.
    """
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            name = re.sub(r"events\.out\.\d+", "events.out", str(path.relative_to(folder)))
            if path.suffix in (".log", ".jsonl"):
                content = sorted(content.splitlines())
            files[name] = None if path.suffix == ".sqlite" else content
    return files


def make_clips(folder, count, samples, seed):
    """`count` raw clips of `samples` 16-bit samples, and the table that lists them."""
    rng = np.random.default_rng(seed)
    (folder / "wavs").mkdir(parents=True)
    with open(folder / "metadata.csv", "w") as table:
        for i in range(count):
            name = f"clip{i:04d}.raw"
            rng.integers(-3000, 3000, samples).astype(np.int16).tofile(folder / "wavs" / name)
            table.write(f"{name}|{i % 4}\n")


def make_shards(folder, count, lines, seed):
    """`count` shards of about `lines` JSON lines with 16 tokens each."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for shard in range(count):
        rows = rng.integers(0, 64, (lines + int(rng.integers(3)), 16))
        text = "".join(f'{{"tokens": {row.tolist()}}}\n' for row in rows)
        (folder / f"part-{shard:05d}.jsonl").write_text(text)


def make_tokens(path, count, seed):
    """A file of `count` 16-bit tokens below 256."""
    np.random.default_rng(seed).integers(0, 256, count).astype(np.uint16).tofile(path)
