"""`ddpscope diff` of traces that are written down."""

import pytest
from command_line import compile_trace, ddpscope
from report_formats_test import GOLDEN


@pytest.fixture
def golden(tmp_path):
    """The trace of tests/golden/NAME.txt."""
    def compiled(name):
        return compile_trace("let W = 2\n" + (GOLDEN / f"{name}.txt").read_text(), tmp_path / name.replace("/", "-"))
    return compiled


def test_a_finding_that_is_graver_is_a_regression_and_one_that_is_less_grave_is_not(golden):
    warning, error = (golden(f"duplicate-checkpoint-write/{name}") for name in ("speaks-in-turn", "speaks-rename-target"))
    told = ddpscope("diff", warning, error)
    assert told.returncode == 1 and told.stdout.startswith("worse   error: duplicate-checkpoint-write (finding "), told.stdout
    assert "(warning in BASE)" in told.stdout
    told = ddpscope("diff", error, warning)
    assert told.returncode == 0 and told.stdout.startswith("better  warning: duplicate-checkpoint-write (finding "), told.stdout


# Ranks 0 and 1 reduce on a communicator of their own in every step, and so do ranks 2 and 3, as often as MORE says.
PAIRS = """
let forward = cudaLaunchKernel name="forward" stream=0x5 count=10
let optimizer = cudaLaunchKernel name="adamw_kernel" stream=0x5
let gradients = ncclAllReduce communicator=1 count=250000 datatype=f32 stream=0x7 buffer=0x2000000 stack="ddp.py:5 reduce"
let activations = ncclAllReduce communicator=2 count=9000 datatype=f32 stream=0x7 buffer=0x90000 stack="tp.py:9 row"
for r in 0..3 {
  process r$r rank=$r world=4 until=5
  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size=4 device=$r
}
for r in 0..1 {
  r$r 0.200 +0.050 ncclCommInitRank communicator=2 id=0xdef rank=$r size=2 device=$r
  r${r + 2} 0.200 +0.050 ncclCommInitRank communicator=2 id=0xfed rank=$r size=2 device=${r + 2}
  for s in 0..9 every 0.100 {
    r$r 1.010 +0.0001 $activations
    for i in 1..MORE every 0.001 {
      r${r + 2} 1.010 +0.0001 $activations
    }
  }
}
for r in 0..3 {
  for s in 0..9 every 0.100 {
    r$r 1.001 +0.0001 $forward
    r$r 1.040 +0.0001 $gradients
    r$r 1.050 +0.0001 $optimizer
    r$r 1.051 +0.0050 cudaStreamSynchronize stream=0x5
  }
}
"""


def test_calls_on_a_communicator_without_rank_0_are_compared(tmp_path):
    base, now = (compile_trace(PAIRS.replace("MORE", more), tmp_path / more) for more in ("1", "10"))
    told = ddpscope("diff", base, now)
    assert told.returncode == 1 and "  MORE than before\n" in told.stdout, told.stdout
    assert "      1    10   all-reduce of 9000 float32 (sum) among 2 ranks (36000 bytes) by ranks 2 and 3\n" in told.stdout
    summary = tmp_path / "summary"
    assert ddpscope("export", base, "--format", "summary", "-o", summary).returncode == 0
    assert summary.read_text().count('"ranks": "0-3"') == 2, "ranks that issue the same share a row"
    assert ddpscope("diff", summary, now).stdout == told.stdout and ddpscope("diff", summary, base).returncode == 0


def test_what_cannot_be_judged_any_more_fails_where_that_is_asked_for(tmp_path):
    base, now = (compile_trace(PAIRS.replace("MORE", "1").replace("adamw_kernel", kernel), tmp_path / kernel)
                 for kernel in ("adamw_kernel", "unknown"))
    told = ddpscope("diff", base, now)
    assert told.returncode == 0 and "no steps are known of NEW" in told.stdout and told.stdout.endswith("\nno regression\n"), told.stdout
    told = ddpscope("diff", base, now, "--fail-on-unjudged")
    assert told.returncode == 1 and told.stdout.endswith("\n  LESS is judged than before\nregression\n"), told.stdout
    assert ddpscope("diff", base, base, "--fail-on-unjudged").returncode == 0
    assert "--fail-on-unjudged" in ddpscope("diff", "--help").stdout


# PyTorch on Gloo: no device, and no communicator of NCCL.
GLOO = """
for r in 0..1 {
  process r$r rank=$r world=2 until=5
  r$r 0.100 +0.050 c10d_group communicator=1 id=0xabc name="default_pg/0/cpu" backend="gloo" rank=$r size=2
  for step in 0..19 every 0.050 {
    r$r 1.0150 +0.0050 autograd_backward flags=accumulate stack="train.py:61 train"
    r$r 1.0155 +0.0001 reducer_gradients object=0x10
    r$r 1.0160 +0.0001 c10d_allreduce communicator=1 count=64 datatype=f32 reduction=sum flags=asynchronous|reducer peer=-1 stack="train.py:61 train"
    r$r 1.0180 +0.0010 reducer_finish object=0x10
    for i in 1..MORE every 0.001 {
      r$r 1.0220 +0.0001 c10d_allreduce communicator=1 count=4 datatype=f32 reduction=sum flags=synchronous peer=-1 stack="train.py:70 log"
    }
    r$r 1.0300 +0.0020 optimizer_step name="Optimizer.step#SGD.step" stack="train.py:62 train"
    r$r 1.0350 +0.0010 optimizer_zero_grad name="Optimizer.zero_grad#SGD.zero_grad" stack="train.py:63 train"
  }
}
"""


def test_steps_on_process_groups_are_compared(tmp_path):
    base, now = (compile_trace(GLOO.replace("MORE", more), tmp_path / more) for more in ("1", "3"))
    told = ddpscope("diff", base, now)
    assert told.returncode == 1 and "findings alone" not in told.stdout, told.stdout
    assert "      1     3   all-reduce of 4 float32 (sum) among 2 ranks (16 bytes) by ranks 0 and 1\n" in told.stdout, told.stdout
    assert "all-reduce of 64 " not in told.stdout, "as often as before"
    merged = tmp_path / "base.ddpscope"
    assert ddpscope("export", base, "--format", "merged", "-o", merged).returncode == 0
    assert ddpscope("diff", merged, base).returncode == 0
