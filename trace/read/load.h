// Values out of a file's bytes, wherever they lie.
#pragma once
#include <cstddef>
#include <cstring>
#include <span>

namespace ddpscope::trace {

// All of it has to lie inside.
template <class T>
T load(std::span<const unsigned char> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace ddpscope::trace
