// Tensors of one device seen as those of another: CPU tensors over CUDA memory, meta tensors of the same
// shape.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <vector>

namespace standin {

/// A CPU tensor over the memory of a CUDA tensor; it does not keep the memory.
at::Tensor cpu_alias(const at::Tensor& tensor);

/// A tensor of the same shape without memory.
at::Tensor meta_like(const at::Tensor& tensor);

/// A CPU tensor of the same shape that holds zeros.
at::Tensor zeros_like(const at::Tensor& tensor);

/// A copy of a host's tensor; one that stands for a number of Python stays one.
at::Tensor host_copy(const at::Tensor& tensor);

/// What is needed to make a result before it is computed.
struct Layout {
  bool defined = false;
  std::vector<int64_t> sizes, strides;
  at::ScalarType type = at::ScalarType::Float;

  static Layout of(const at::Tensor& tensor);
  at::Tensor allocate(c10::DeviceIndex device) const;
};

/// Calls `visit(const at::Tensor&)` for each defined tensor in `value`: a tensor, a list of them, or neither.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef())
      if (item.isTensor() && item.toTensor().defined()) visit(item.toTensor());
  }
}

/// `value` with `change(const at::Tensor&)` in the place of each tensor.
template <class Change>
c10::IValue with_tensors(const c10::IValue& value, Change change) {
  if (value.isTensor()) return value.toTensor().defined() ? c10::IValue(change(value.toTensor())) : value;
  if (!value.isTensorList() && !value.isOptionalTensorList()) return value;
  if (value.isTensorList()) {
    c10::List<at::Tensor> changed;
    for (const c10::IValue& item : value.toListRef())
      changed.push_back(item.toTensor().defined() ? change(item.toTensor()) : item.toTensor());
    return changed;
  }
  c10::List<std::optional<at::Tensor>> changed;
  for (const c10::IValue& item : value.toListRef())
    changed.push_back(item.isTensor() && item.toTensor().defined()
                          ? std::optional<at::Tensor>(change(item.toTensor()))
                          : std::nullopt);
  return changed;
}

}  // namespace standin
