#include "host_call.h"

#include <cstring>
#include <optional>

#include "tensors.h"

namespace standin {
namespace {

bool lacks_type(const std::exception& error) {
  return std::strstr(error.what(), "\" not implemented for '") ||
         std::strstr(error.what(), "doesn't support tensors of type");  // FFT
}

// CUDA's softmax converts half to float on its way, and back. Whether it was to do so.
bool drop_conversion(const c10::FunctionSchema& schema, torch::jit::Stack* arguments) {
  for (size_t i = 0; i < arguments->size(); ++i) {
    c10::IValue& argument = (*arguments)[i];
    const std::string& name = schema.arguments()[i].name();
    if (name == "half_to_float" && argument.isBool() && argument.toBool()) {
      argument = false;
      return true;
    }
    if (name == "input_dtype" && argument.isInt() && argument.toScalarType() == at::kHalf) {
      argument = at::kFloat;
      return true;
    }
  }
  return false;
}

std::optional<at::ScalarType> wider(at::ScalarType type) {
  if (type == at::kHalf || type == at::kBFloat16 || c10::isFloat8Type(type)) return at::kFloat;
  if (type == at::kComplexHalf) return at::kComplexFloat;
  return std::nullopt;
}

/// Which types a call is widened from, and back to.
class Widening {
 public:
  explicit Widening(const torch::jit::Stack& arguments) {
    for (const c10::IValue& argument : arguments)
      for_each_tensor(argument, [&](const at::Tensor& t) {
        if (!first_) first_ = t.scalar_type();
        if (wider(t.scalar_type())) floats_ = true;
      });
    // Indices are integers too: those are widened only where nothing else is.
    integers_ = !floats_ && first_ && c10::isIntegralType(*first_, false);
  }

  bool helps() const { return floats_ || integers_; }

  at::Tensor widen(const at::Tensor& t) const {
    if (const auto type = wider(t.scalar_type())) return t.to(*type);
    return integers_ && c10::isIntegralType(t.scalar_type(), false) ? t.to(at::kDouble) : t;
  }

  at::Tensor narrow(const at::Tensor& t) const {
    const bool was_widened =
        integers_ ? t.scalar_type() == at::kDouble : wider(*first_) && t.scalar_type() == wider(*first_);
    return was_widened ? t.to(*first_) : t;
  }

 private:
  std::optional<at::ScalarType> first_;
  bool floats_ = false;
  bool integers_ = false;
};

void copy_back(const c10::IValue& widened, const c10::IValue& written) {
  std::vector<at::Tensor> sources;
  for_each_tensor(widened, [&](const at::Tensor& t) { sources.push_back(t); });
  auto source = sources.begin();
  for_each_tensor(written, [&](const at::Tensor& target) {
    const at::Tensor& from = *source++;
    if (from.is_same(target)) return;
    if (target.sizes() != from.sizes()) target.resize_(from.sizes());
    target.copy_(from);
  });
}

}  // namespace

void call_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::vector<size_t>& written,
                  bool keep_wide) {
  const torch::jit::Stack arguments = *stack;
  const Widening widening(arguments);
  torch::jit::Stack wide = arguments;
  try {
    return op.callBoxed(stack);
  } catch (const std::exception& error) {
    const bool converts = drop_conversion(op.schema(), &wide);
    if (!converts && !(lacks_type(error) && widening.helps())) throw;
  }
  for (c10::IValue& argument : wide)
    argument = with_tensors(argument, [&](const at::Tensor& t) { return widening.widen(t); });
  const torch::jit::Stack given = wide;
  op.callBoxed(&wide);
  for (const size_t position : written) copy_back(given[position], arguments[position]);
  stack->clear();
  for (const c10::IValue& result : wide)
    stack->push_back(
        keep_wide ? result : with_tensors(result, [&](const at::Tensor& t) { return widening.narrow(t); }));
}

}  // namespace standin
