// An operator called with CPU tensors.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <vector>

namespace standin {

/// Where the CPU's kernel lacks a type that CUDA's has, the call is made with a wider one. `written`: the
/// positions of the arguments that the operator writes to. Then results that are no arguments are narrowed
/// again, unless what they are copied to does that: `keep_wide`.
void call_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::vector<size_t>& written,
                  bool keep_wide = false);

}  // namespace standin
