"""Lightning, accelerate and transformers' Trainer with their own use of NCCL (environment.sh --frameworks)."""
import ddpscope
import pytest
from nccl_jobs import Job, expect_nothing_found, record

pytestmark = [pytest.mark.parametrize("seed", ddpscope.SEEDS), pytest.mark.long]
both = pytest.mark.parametrize("ranks", [2, 4])

# By script: what makes it run a collective on rank 0 alone, and the line that does.
SCRIPTS = {"lightning_module.py": ("--on-main", "self.trainer.save_checkpoint("),
           "accelerate_loop.py": ("--gather-on-main", "answers.append("),
           "hugging_trainer.py": ("--evaluate-on-main", "# by rank 0")}
each_script = pytest.mark.parametrize("script", SCRIPTS)


def job_of(script, seed, ranks, *arguments):
    rng = ddpscope.draw(seed, f"cuda/{script}/{arguments}/{ranks}")
    more = ["--ranks", ranks] if script == "lightning_module.py" else []
    return Job(script, [f"out{rng.randrange(100)}", "--accumulate", rng.randrange(1, 4), *more, *arguments], ranks, frameworks=True)


@both
@each_script
def test_healthy(tmp_path, ranks, script, seed):
    expect_nothing_found(record(job_of(script, seed, ranks), tmp_path), ranks)


@both
@each_script
def test_rank_0_runs_a_collective_alone(tmp_path, ranks, script, seed):
    option, text = SCRIPTS[script]
    job = job_of(script, seed, ranks, option)
    findings = ddpscope.report(record(job, tmp_path, code=None))["findings"]
    assert len(findings) == 1 and findings[0]["slug"] in ("mismatched-collective", "skipped-barrier"), findings
    line = ddpscope.line_of(job.path, text)
    assert any(f"{script}:{line} " in frame for frame in ddpscope.frames(findings[0], 0)), findings
