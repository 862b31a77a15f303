#include "override.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <exception>

#include "host_call.h"
#include "queue.h"
#include "random.h"

namespace standin {
namespace {

bool is_in(const std::vector<size_t>& positions, size_t position) {
  return std::find(positions.begin(), positions.end(), position) != positions.end();
}

bool is_tensor_type(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::TensorType ||
         (type->kind() == c10::TypeKind::ListType &&
          type->containedType(0)->kind() == c10::TypeKind::TensorType);
}

c10::IValue host_value(const c10::IValue& value) {
  return with_tensors(value, [](const at::Tensor& t) { return t.is_cuda() ? cpu_alias(t) : host_copy(t); });
}

// All that a return holds; what is not defined, too.
std::vector<at::Tensor> tensors_of(const c10::IValue& value) {
  if (value.isTensor()) return {value.toTensor()};
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& item : value.toListRef()) tensors.push_back(item.toTensor());
  return tensors;
}

// Copies what was computed to where it was expected.
void store(const std::vector<at::Tensor>& targets, const torch::jit::Stack& results) {
  size_t next = 0;
  for (const c10::IValue& result : results) {
    for (const at::Tensor& computed : tensors_of(result)) {
      const at::Tensor& target = targets.at(next++);
      if (!target.defined()) continue;
      TORCH_CHECK(computed.defined() && target.sizes() == computed.sizes(),
                  "a result is not of the size that was expected");
      target.copy_(computed);
    }
  }
}

at::Tensor on_device(const at::Tensor& computed, c10::DeviceIndex device) {
  if (computed.layout() != c10::kStrided) return computed.to(c10::Device(c10::kCUDA, device));
  at::Tensor result = Layout::of(computed).allocate(device);
  cpu_alias(result).copy_(computed);
  return result;
}

}  // namespace

Override::Override(const c10::OperatorHandle& op, const void* kernel, unsigned flags)
    : op_(op), name_(c10::toString(op.operator_name())), kernel_(kernel), flags_(flags) {
  read_schema();
}

void Override::read_schema() {
  const c10::FunctionSchema& schema = op_.schema();
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_written = arguments[i].alias_info() && arguments[i].alias_info()->isWrite();
    if (is_written) written_.push_back(i);
    if (is_written && arguments[i].kwarg_only()) outs_.push_back(i);
    if (arguments[i].name() == "generator") generator_ = i;
    if (arguments[i].name() == "device") device_ = i;
    if (arguments[i].name() == "pin_memory") pin_memory_ = i;
  }
  waits_ = (flags_ & kWaits) != 0;
  for (const c10::Argument& result : schema.returns()) {
    if (!is_tensor_type(result.real_type())) waits_ = true;
    returned_.emplace_back();
    for (size_t i = 0; result.alias_info() && i < arguments.size(); ++i)
      if (arguments[i].alias_info() &&
          arguments[i].alias_info()->beforeSets() == result.alias_info()->beforeSets())
        returned_.back() = i;
    if (!returned_.back()) only_in_place_ = false;
  }
  if (!outs_.empty()) only_in_place_ = false;
  asks_meta_ = !(flags_ & kRehearsed) && op_.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta);
}

void Override::operator()(const c10::OperatorHandle&, c10::DispatchKeySet, Stack* stack) {
  at::AutoDispatchBelowAutograd below_autograd;
  Stack arguments = torch::jit::pop(*stack, op_.schema().arguments().size());
  const c10::DeviceIndex device = device_of(arguments);
  const c10::cuda::CUDAGuard guard(device);
  const auto shapes = waits_ ? nullptr : shapes_of(arguments);
  Stack results = shapes ? queue(arguments, device, *shapes) : call_and_wait(arguments, device);
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

c10::DeviceIndex Override::device_of(const Stack& arguments) const {
  std::optional<c10::Device> device;
  bool takes_host = false;
  for (const c10::IValue& argument : arguments) {
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (tensor.is_cuda()) {
        if (device && *device != tensor.device()) refuse_devices(device->str(), tensor.device().str());
        device = tensor.device();
      } else if (tensor.is_cpu() && tensor.dim() > 0) {
        takes_host = true;
      }
    });
  }
  if (device && takes_host && !(flags_ & kTakesHostTensors)) refuse_devices(device->str(), "cpu");
  if (!device && device_ && arguments[*device_].isDevice()) device = arguments[*device_].toDevice();
  return device && device->has_index() ? device->index() : c10::cuda::current_device();
}

void Override::refuse_devices(const std::string& one, const std::string& other) const {
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", one,
              " and ", other, "! (when checking the arguments of ", name_, ")");
}

std::shared_ptr<const Shapes> Override::shapes_of(const Stack& arguments) {
  static const auto nothing = std::make_shared<const Shapes>();
  if (only_in_place_ && !asks_meta_) return nothing;
  thread_local std::vector<int64_t> key;
  if (!make_key(arguments, flags_ & kSizesFromFloats, &key)) return ask(arguments);
  auto shapes = shapes_.find(key, [&] { return ask(arguments); });
  if (!shapes) return nullptr;
  for (const auto& [position, sizes] : shapes->outs) {
    const at::Tensor& out = arguments[position].toTensor();
    if (out.sizes() != c10::IntArrayRef(sizes)) out.resize_(sizes);
  }
  return shapes;
}

// The operator itself, with tensors that hold nothing of worth. What it refuses then, the CPU's kernel will
// do or say better.
std::shared_ptr<const Shapes> Override::ask(const Stack& arguments) const {
  const auto hollow = [&](const at::Tensor& t) {
    return !t.is_cuda() && t.dim() == 0 ? t : asks_meta_ ? meta_like(t) : zeros_like(t);
  };
  Stack asked;
  for (const c10::IValue& argument : arguments) asked.push_back(with_tensors(argument, hollow));
  if (device_) asked[*device_] = c10::Device(asks_meta_ ? c10::kMeta : c10::kCPU);
  if (generator_) asked[*generator_] = asks_meta_ ? c10::IValue() : c10::IValue(cpu_generator({0, 0}));
  for (const size_t out : outs_)
    if (!asked[out].isTensor()) return nullptr;
  const Stack given = asked;
  try {
    if (asks_meta_)
      op_.callBoxed(&asked);
    else
      call_on_host(op_, &asked, written_);
  } catch (const std::exception&) {
    return nullptr;
  }
  auto shapes = std::make_shared<Shapes>();
  for (size_t i = 0; i < returned_.size(); ++i) {
    if (returned_[i]) continue;
    auto result = Result::of(asked[i]);
    if (!result) return nullptr;
    shapes->results.push_back(std::move(*result));
  }
  for (const size_t out : outs_) shapes->outs.emplace_back(out, given[out].toTensor().sizes().vec());
  return shapes;
}

void Override::set_host_options(Stack* arguments) const {
  if (device_) (*arguments)[*device_] = c10::Device(c10::kCPU);
  if (pin_memory_) (*arguments)[*pin_memory_] = false;
}

torch::jit::Stack Override::queue(const Stack& arguments, c10::DeviceIndex device, const Shapes& shapes) {
  Stack host;
  for (const c10::IValue& argument : arguments) host.push_back(host_value(argument));
  set_host_options(&host);
  Stack results;
  std::vector<at::Tensor> targets;
  for (const Result& result : shapes.results) {
    c10::List<at::Tensor> made;
    for (const Layout& layout : result.layouts) {
      made.push_back(layout.allocate(device));
      targets.push_back(layout.defined ? cpu_alias(made.get(made.size() - 1)) : at::Tensor());
    }
    results.push_back(result.is_list ? c10::IValue(made) : c10::IValue(made.get(0)));
  }
  std::optional<at::PhiloxCudaState> random;
  if (generator_) random = draw(arguments[*generator_].toOptional<at::Generator>(), device);
  enqueue(kernel_, name_, device, [this, host = std::move(host), targets = std::move(targets), random] {
    Stack stack = host;
    if (random) stack[*generator_] = cpu_generator(*random);
    call_on_host(op_, &stack, written_, true);
    if (targets.empty()) return;
    Stack computed;
    for (size_t i = 0; i < stack.size(); ++i)
      if (!returned_[i]) computed.push_back(std::move(stack[i]));
    store(targets, computed);
  });
  return answer(arguments, results);
}

torch::jit::Stack Override::call_and_wait(const Stack& arguments, c10::DeviceIndex device) {
  Stack host;
  for (size_t i = 0; i < arguments.size(); ++i)
    host.push_back(with_tensors(arguments[i], [&](const at::Tensor& t) {
      if (is_in(outs_, i)) return at::empty({0}, t.options().device(c10::kCPU));
      return t.is_cuda() ? cpu_alias(t) : t;
    }));
  set_host_options(&host);
  if (generator_)
    host[*generator_] = cpu_generator(draw(arguments[*generator_].toOptional<at::Generator>(), device));
  const Stack outs = host;
  std::exception_ptr failure;
  enqueue(kernel_, name_, device, [&] {
    try {
      call_on_host(op_, &host, written_);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  wait(device);
  if (failure) std::rethrow_exception(failure);
  for (const size_t out : outs_) {
    std::vector<at::Tensor> computed;
    for_each_tensor(outs[out], [&](const at::Tensor& t) { computed.push_back(t); });
    auto source = computed.begin();
    for_each_tensor(arguments[out], [&](const at::Tensor& target) {
      if (target.sizes() != source->sizes()) target.resize_(source->sizes());
      cpu_alias(target).copy_(*source++);
    });
  }
  Stack results;
  for (size_t i = 0; i < host.size(); ++i)
    if (!returned_[i])
      results.push_back(with_tensors(host[i], [&](const at::Tensor& t) { return on_device(t, device); }));
  return answer(arguments, results);
}

// `results` are those returns that are no argument.
torch::jit::Stack Override::answer(const Stack& arguments, const Stack& results) const {
  Stack all;
  auto result = results.begin();
  for (const auto& argument : returned_) all.push_back(argument ? arguments[*argument] : *result++);
  return all;
}

}  // namespace standin
