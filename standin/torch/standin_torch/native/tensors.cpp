#include "tensors.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/TensorImpl.h>

namespace standin {
namespace {

void copy_bits(const at::Tensor& from, const at::Tensor& to) {
  if (from.is_conj()) to._set_conj(true);
  if (from.is_neg()) to._set_neg(true);
}

}  // namespace

at::Tensor cpu_alias(const at::Tensor& tensor) {
  const c10::Storage& memory = tensor.storage();
  c10::Storage storage(c10::Storage::use_byte_size_t(), memory.nbytes(),
                       at::DataPtr(const_cast<void*>(memory.data()), c10::Device(c10::kCPU)), nullptr, false);
  at::Tensor alias = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  alias.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                     tensor.storage_offset());
  copy_bits(tensor, alias);
  return alias;
}

at::Tensor meta_like(const at::Tensor& tensor) {
  at::Tensor meta(at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(), tensor.scalar_type()));
  copy_bits(tensor, meta);
  return meta;
}

at::Tensor zeros_like(const at::Tensor& tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(c10::kCPU)).zero_();
}

at::Tensor host_copy(const at::Tensor& tensor) {
  at::Tensor copy = at::clone(tensor);
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) copy.unsafeGetTensorImpl()->set_wrapped_number(true);
  return copy;
}

Layout Layout::of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {true, tensor.sizes().vec(), tensor.strides().vec(), tensor.scalar_type()};
}

at::Tensor Layout::allocate(c10::DeviceIndex device) const {
  if (!defined) return {};
  return at::empty_strided(sizes, strides, at::TensorOptions().dtype(type).device(c10::kCUDA, device));
}

}  // namespace standin
