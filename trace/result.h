// Result<T>: a value, or what went wrong, where, and what to do about it. The library prints nothing.
#pragma once
#include <string>
#include <utility>
#include <variant>

namespace ddpscope {

struct Error {
  std::string what;   // one sentence, no newline, without "error:"
  std::string where;  // path, or empty
  std::string hint;   // what to do, or empty
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  T& operator*() { return std::get<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace ddpscope
