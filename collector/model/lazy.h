// What is derived at the first question, once for all who ask.
#pragma once
#include <functional>
#include <optional>
#include <utility>

namespace ddpscope::model {

template <class T>
class Lazy {
 public:
  explicit Lazy(std::function<T()> derive) : derive_(std::move(derive)) {}
  const T& get() const {
    if (!value_) value_.emplace(derive_());
    return *value_;
  }

 private:
  std::function<T()> derive_;
  mutable std::optional<T> value_;
};

}  // namespace ddpscope::model
