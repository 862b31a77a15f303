// The kernel for the CUDA key that computes any operator on CPU tensors over the same memory, in stream
// order.
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "shapes.h"

namespace standin {

/// operator_lists.py says which operator has which.
enum Flags : unsigned { kWaits = 1, kTakesHostTensors = 2, kSizesFromFloats = 4, kRehearsed = 8 };

class Override final : public c10::OperatorKernel {
 public:
  /// `kernel`: of standin_kernel().
  Override(const c10::OperatorHandle& op, const void* kernel, unsigned flags);

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  using Stack = torch::jit::Stack;

  void read_schema();
  c10::DeviceIndex device_of(const Stack& arguments) const;
  [[noreturn]] void refuse_devices(const std::string& one, const std::string& other) const;
  std::shared_ptr<const Shapes> shapes_of(const Stack& arguments);
  std::shared_ptr<const Shapes> ask(const Stack& arguments) const;
  Stack queue(const Stack& arguments, c10::DeviceIndex device, const Shapes& shapes);
  Stack call_and_wait(const Stack& arguments, c10::DeviceIndex device);
  void set_host_options(Stack* arguments) const;
  Stack answer(const Stack& arguments, const Stack& results) const;

  const c10::OperatorHandle op_;
  const std::string name_;
  const void* const kernel_;
  const unsigned flags_;
  std::vector<std::optional<size_t>> returned_;  ///< the argument that a return is
  std::vector<size_t> written_;                  ///< arguments that the operator writes to
  std::vector<size_t> outs_;                     ///< arguments whose size the operator sets
  std::optional<size_t> generator_, device_, pin_memory_;
  bool only_in_place_ = true;
  bool asks_meta_ = false;
  bool waits_ = false;
  ShapeTable shapes_;
};

}  // namespace standin
