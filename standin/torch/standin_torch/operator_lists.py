"""What is known of single operators: the one source for both variants (queued.py and native/)."""

# They allocate, look or hand out views of CUDA memory; no kernel of the wheel is launched.
NOT_OVERRIDDEN = frozenset("""
    empty.memory_format empty_strided _empty_affine_quantized _empty_per_channel_affine_quantized
    _efficientzerotensor resize_ _resize_output_ set_ set_.source_Storage set_.source_Storage_storage_offset
    set_.source_Tensor is_set_to record_stream is_pinned _pin_memory _local_scalar_dense
    _copy_from_and_resize _cudnn_init_dropout_state _fused_sdp_choice
    view as_strided _reshape_alias unfold view_as_real view_as_complex _nested_view_from_buffer
    """.split())

# No CUDA kernel of their own, but what they decompose into would choose cuDNN or launch the wheel's kernels.
ADDED = frozenset("""
    convolution _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward
    ldexp.Tensor ldexp.out ldexp_
    """.split())

# The size of a result depends on values, or the result is a value: the host waits, as it does with a GPU.
WAITS = frozenset("""
    nonzero nonzero.out masked_select masked_select.out _unique _unique2 unique_dim unique_consecutive
    unique_dim_consecutive bincount repeat_interleave.Tensor equal histc histc.out _to_sparse
    _to_sparse.sparse_dim _to_sparse_bsc _to_sparse_bsr _to_sparse_csc _to_sparse_csr
    _validate_compressed_sparse_indices _nested_tensor_from_mask_left_aligned _nested_tensor_from_mask
    _nested_from_padded _nested_compute_contiguous_strides_offsets _padded_dense_to_jagged_forward
    _ctc_loss.Tensor _ctc_loss_backward.Tensor linalg_lstsq.out sspaddmm.out
    """.split())

# The meta kernel answers with other sizes or types than the CPU's kernel computes: the shapes come from a call
# with zeros instead, as they do for operators without a meta kernel.
REHEARSED = frozenset("""
    native_layer_norm native_batch_norm _native_batch_norm_legit _native_batch_norm_legit.no_stats
    _native_batch_norm_legit_no_training _batch_norm_with_update batch_norm_update_stats native_group_norm
    native_batch_norm_backward batch_norm_backward native_layer_norm_backward native_group_norm_backward
    _embedding_bag _embedding_bag_forward_only
    """.split())

# A GPU takes indices and lengths from the host for these.
TAKES_HOST_TENSORS = frozenset("""
    index.Tensor index.Tensor_out _index_put_impl_ _unsafe_index.Tensor index_put_ _ctc_loss
    _ctc_loss_backward repeat_interleave.Tensor _fused_adam_ _fused_adamw_ _fused_sgd_ _fused_adagrad_
    _fused_adam_.tensor_lr _fused_adamw_.tensor_lr _fused_sgd_.tensor_lr _fused_adagrad_.tensor_lr
    segment_reduce _segment_reduce_backward
    """.split())

# Floating-point arguments decide over the size of the result.
SIZES_FROM_FLOATS = frozenset("""
    arange.start_out linspace.out logspace.out range.out upsample_bicubic2d upsample_bilinear2d
    """.split())

_MULTI_TENSOR = "at::native::multi_tensor_apply_kernel<%s>"

# Names that tools read are the wheel's; else a kernel has its operator's name.
KERNEL_NAMES = {
    "_foreach_addcdiv_": _MULTI_TENSOR % "at::native::PointwiseOpScalarFunctor<float>, std::divides<float>",
    "_foreach_addcdiv": _MULTI_TENSOR % "at::native::PointwiseOpScalarFunctor<float>, std::divides<float>",
    "_foreach_add_.List": _MULTI_TENSOR % "at::native::BinaryOpListAlphaFunctor<float>, std::plus<float>",
    "_fused_adam_": _MULTI_TENSOR % "at::native::FusedAdamMathFunctor<float, ADAM_MODE::ORIGINAL>",
    "_fused_adamw_": _MULTI_TENSOR % "at::native::FusedAdamMathFunctor<float, ADAM_MODE::ADAMW>",
    "_fused_sgd_": _MULTI_TENSOR % "at::native::FusedSgdMathFunctor<float>",
    "_fused_adagrad_": _MULTI_TENSOR % "at::native::FusedAdagradMathFunctor<float>",
}


def kernel_name(name):
    """Of the kernel by which tracers and profilers see the operator; `name` without "aten::"."""
    return KERNEL_NAMES.get(name) or KERNEL_NAMES.get(name.partition(".")[0]) or "aten::" + name


# Kernels that compute on the CPU under one of these keys can be called with CPU tensors.
_CPU_KEYS = ("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional",
             "CompositeImplicitAutograd")


def cuda_names(torch):
    """All aten operators that have a kernel for CUDA, as name.overload."""
    prefix = "aten::"
    return sorted(name[len(prefix):] for name in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")
                  if name.startswith(prefix))


def has_cpu_kernel(torch, name):
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return any(has("aten::" + name, key) for key in _CPU_KEYS)


def is_known(torch, name):
    return torch._C._dispatch_has_kernel("aten::" + name)


def overridden_names(torch, names):
    """Those of `names` that the generic override takes; and ADDED."""
    kept = [name for name in names if name not in NOT_OVERRIDDEN and has_cpu_kernel(torch, name)]
    return kept + [name for name in sorted(ADDED) if name not in kept and is_known(torch, name)]
