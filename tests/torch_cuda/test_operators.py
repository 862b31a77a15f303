"""Every operator that PyTorch has for CUDA computes what it computes on the CPU, or says that it does not."""
import json
import pathlib
import re

import ddpscope
import pytest
import wheel

FOLDER = pathlib.Path(__file__).parent
each_variant = pytest.mark.parametrize("variant", ["compiled", "python"])

# They launch no kernel: they allocate, look, copy by cudaMemcpy, or return a view.
LEFT = set("""
    _cudnn_init_dropout_state _efficientzerotensor _fused_sdp_choice _local_scalar_dense _nested_view_from_buffer _pin_memory
    _reshape_alias as_strided empty.memory_format empty_strided is_pinned is_set_to record_stream resize_ set_ set_.source_Storage
    set_.source_Storage_storage_offset set_.source_Tensor unfold view view_as_complex view_as_real
    _empty_affine_quantized _empty_per_channel_affine_quantized _copy_from_and_resize _resize_output_
    """.split())

# Why a sample's result is not the CPU's. A GPU does the same.
EXCEPTIONS = {
    "as_strided|partial_views": "the sample is a view of a larger tensor, which is not copied to the device as a whole",
    "tensor_split|": "the indices have to be on the host",
    "sparse.mm|reduce": "PyTorch has no kernel for CUDA",
    "histogram|": "PyTorch has no kernel for CUDA",
    "histogramdd|": "PyTorch has no kernel for CUDA",
    "jiterator_unary|": "PyTorch has it for CUDA only",
    "jiterator_binary|": "PyTorch has it for CUDA only",
    "jiterator_binary_return_by_ref|": "PyTorch has it for CUDA only",
    "jiterator_4inputs_with_extra_args|": "PyTorch has it for CUDA only",
    "jiterator_2inputs_2outputs|": "PyTorch has it for CUDA only",
    "sparse.sampled_addmm|": "cuSPARSE needs a GPU, and says so",
    "to_sparse|": "sparse CUDA tensors reach kernels of the wheel's own, which are refused",
}


def run(script, *arguments, folder, variant, code=0):
    command = [wheel.python(), FOLDER / script, *arguments]
    environment = {"STANDIN_TORCH": variant, "OMP_NUM_THREADS": "1"}
    done = ddpscope.record(command, folder / "trace", folder, cpu=True, env=environment, timeout=900)
    assert done.code in (code if isinstance(code, tuple) else (code,)), f"{done.code}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert "operators run in Python" not in done.stderr or variant == "python", done.stderr[-2000:]
    return done


@each_variant
def test_each_name_is_computed_or_refused(variant, tmp_path):
    report = json.loads(run("operator_names.py", folder=tmp_path, variant=variant).stdout)
    assert report["names"] > 1000
    assert set(report["left"]) <= LEFT
    assert report["views"] == []
    # Those that exist for CUDA only.
    for name, said in report["refused"].items():
        assert said.startswith(f"NotImplementedError: aten::{name} has no CPU form"), (name, said)
    assert {"_cudnn_rnn", "_cslt_sparse_mm", "_flash_attention_forward", "miopen_convolution"} <= set(report["refused"])
    assert {"_thnn_fused_lstm_cell", "_thnn_fused_gru_cell_backward", "batch_norm_stats", "_fused_rms_norm_backward", "mm.dtype",
            "_scaled_grouped_mm", "native_dropout"} <= set(report["written"])


def wrong_operators(lines):
    reports = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    wrong = {report["label"]: report["wrong"] for report in reports if report["wrong"]}
    return len(reports), sum(report["samples"] for report in reports), wrong


@pytest.mark.parametrize("variant,every", [
    ("compiled", 5), ("python", 20),
    pytest.param("compiled", 1, marks=pytest.mark.long), pytest.param("python", 1, marks=pytest.mark.long)])
def test_samples_are_computed_as_on_the_cpu(variant, every, tmp_path):
    """PyTorch's own sample inputs of its functions: results, gradients, and what is refused."""
    done = run("operator_samples.py", "2" if every > 1 else "1000", "--every", str(every), folder=tmp_path, variant=variant)
    functions, samples, wrong = wrong_operators(done.stdout)
    least = 690 if wheel.has_older_group() else 700  # PyTorch 2.10 lists 697
    assert functions >= least // every and samples > functions
    assert {label: said for label, said in wrong.items() if label not in EXCEPTIONS} == {}


@each_variant
def test_a_kernel_without_a_body_is_refused_by_name(variant, tmp_path):
    """Sparse tensors on CUDA have kernels of the wheel's own."""
    script = ("import torch\n"
              "a = torch.eye(3).to_sparse().cuda()\n"
              "try:\n"
              "    print('returned', torch.add(torch.ones(3, 3).cuda(), a))\n"
              "except RuntimeError as error:\n"
              "    print('refused:', error)\n")
    done = ddpscope.record([wheel.python(), "-c", script], tmp_path / "trace", tmp_path, cpu=True, env={"STANDIN_TORCH": variant})
    assert done.code == 0 and "refused: CUDA error: no kernel image is available" in done.stdout, done.stdout + done.stderr
    assert re.search(r"kernel \S+ has no CPU body and cannot run without a GPU", done.stderr)


@each_variant
def test_what_fails_in_a_stream_is_said_and_ends_the_use_of_the_device(variant, tmp_path):
    script = ("import torch\n"
              "table = torch.randn(4, 2, device='cuda')\n"
              "row = torch.nn.functional.embedding(torch.tensor([7], device='cuda'), table)\n"
              "print('value', row.sum().item())\n")
    done = ddpscope.record([wheel.python(), "-c", script], tmp_path / "trace", tmp_path, cpu=True, env={"STANDIN_TORCH": variant})
    assert done.code != 0 and "value" not in done.stdout
    assert "failed in its stream" in done.stderr and "aten::embedding" in done.stderr or "aten::index_select" in done.stderr


@each_variant
def test_tensors_of_two_devices_are_refused(variant, tmp_path):
    script = ("import torch\n"
              "for other in (torch.ones(3), torch.ones(3, device='cuda:1')):\n"
              "    try:\n"
              "        print('returned', torch.ones(3, device='cuda') + other)\n"
              "    except RuntimeError as error:\n"
              "        print('refused:', error)\n"
              "print((torch.ones(3, device='cuda') + torch.tensor(2.0)).sum().item())\n")
    done = ddpscope.record([wheel.python(), "-c", script], tmp_path / "trace", tmp_path, cpu=True, env={"STANDIN_TORCH": variant})
    assert done.stdout.count("refused: Expected all tensors to be on the same device") == 2, done.stdout + done.stderr
    assert "9.0" in done.stdout


@each_variant
def test_operators_of_cuda_only_compute_what_others_do(variant, tmp_path):
    differences = json.loads(run("operator_compositions.py", folder=tmp_path, variant=variant).stdout)
    assert len(differences) >= 20
    for name, difference in differences.items():
        assert difference <= (0.01 if "bfloat16" in name or "grouped queries" in name else 1e-6), name


def test_what_needs_a_gpu_says_so_or_is_led_elsewhere(tmp_path):
    done = run("operator_surprises.py", folder=tmp_path, variant="compiled")
    said = json.loads(done.stdout)
    line = ddpscope.line_of(FOLDER / "operator_surprises.py", "@triton.jit")
    assert re.match(rf"RuntimeError: the Triton kernel written_by_hand \(\S+operator_surprises.py:{line}\) needs a GPU", said["triton"])
    assert said["compile"] is True and said["compile, inductor by name"] is True
    assert said["compile for the host"] == [3, 3]
    assert said["flash, half"] == [1, 2, 4, 8]
    assert "No available kernel" in said["flash, float"]  # as on a GPU
    assert said["cudnn"] == [2, 2, 3, 3]
    assert said["padded encoder"] == [2, 3, 8]
    assert said["too much memory"].startswith("OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 GiB")
    assert "Cannot re-initialize CUDA in forked subprocess" in said["child"]
    lines = [line for line in done.stderr.splitlines() if line.startswith("standin torch: ")]
    assert sum("aot_eager" in line for line in lines) == 1 and sum("cuDNN stays off" in line for line in lines) == 1


USES_AN_OPERATOR = "import torch; print('value', (torch.ones(3, device='cuda') * 2).sum().item())"


def variants_said(folder, environment):
    """What a program prints, and what is said about the build."""
    done = ddpscope.record([wheel.python(), "-c", USES_AN_OPERATOR], folder / "trace", folder, cpu=True,
                           env={"STANDIN_TORCH": "compiled", **environment})
    assert done.code == 0 and "value 6.0" in done.stdout, done.stderr[-3000:]
    return [line for line in done.stderr.splitlines() if line.startswith("standin torch: ")]


def compiler(folder, text):
    path = folder / "compiler"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def test_without_a_compiler_operators_run_in_python(tmp_path):
    environment = {"STANDIN_TORCH_CACHE": str(tmp_path / "cache"), "CXX": str(tmp_path / "absent")}
    lines = variants_said(tmp_path, environment)
    assert len(lines) == 2 and "operators run in Python" in lines[1] and "absent" in lines[1]


def test_a_build_that_fails_is_not_tried_again(tmp_path):
    failing = compiler(tmp_path, f"echo called >> {tmp_path}/calls\necho 'x.h:1: error: no such type' >&2\nexit 1\n")
    environment = {"STANDIN_TORCH_CACHE": str(tmp_path / "cache"), "CXX": failing}
    assert "no such type" in variants_said(tmp_path, environment)[-1]
    again = variants_said(tmp_path, environment)
    assert len(again) == 1 and "failed before" in again[0] and ".log" in again[0]
    assert (tmp_path / "calls").read_text() == "called\n"


def test_a_cache_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    lines = variants_said(tmp_path, {"STANDIN_TORCH_CACHE": str(tmp_path / "file" / "cache")})
    assert len(lines) == 1 and "operators run in Python" in lines[0] and "the cache cannot be written" in lines[0]
