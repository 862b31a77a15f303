// What Python calls: registers the overrides with PyTorch's dispatcher.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

#include <memory>
#include <string>
#include <vector>

#include "copy.h"
#include "operator_launch.h"
#include "override.h"

namespace {

using c10::DispatchKey;
using c10::KernelFunction;

// PyTorch warns of each registration that takes another's place.
class Quiet : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

std::vector<c10::RegistrationHandleRAII>& registrations() {
  static auto* all = new std::vector<c10::RegistrationHandleRAII>;
  return *all;
}

void add(const c10::OperatorName& name, KernelFunction kernel) {
  registrations().push_back(c10::Dispatcher::singleton().registerImpl(
      name, DispatchKey::CUDA, std::move(kernel), std::nullopt, nullptr, "standin torch"));
}

}  // namespace

extern "C" {

/// As in compiled.py.
struct StandinOperator {
  const char* name;
  const char* overload;
  const char* kernel;
  unsigned flags;
};

/// Null, or what went wrong; never freed.
const char* standin_torch_install(const StandinOperator* operators, size_t count) {
  Quiet quiet;
  c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  try {
    for (const StandinOperator* op = operators; op != operators + count; ++op) {
      const c10::OperatorName name(op->name, op->overload);
      const auto handle = c10::Dispatcher::singleton().findSchema(name);
      if (!handle) continue;
      add(name, KernelFunction::makeFromBoxedFunctor(
                    std::make_unique<standin::Override>(*handle, standin_kernel(op->kernel), op->flags)));
    }
    add({"aten::copy_", ""}, KernelFunction::makeFromUnboxedRuntimeFunction(&standin::copy_));
    return nullptr;
  } catch (const std::exception& error) {
    return (new std::string(error.what()))->c_str();
  }
}

}  // extern "C"
