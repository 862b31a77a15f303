// Blocks of memory as copies and fills see them: rows of bytes, slices of rows.
#pragma once

#include <cstddef>

#include "standin/cuda/memory.h"
#include "standin/cuda/observer.h"

namespace ddpscope::standin {

/// A plain run of bytes is one row of one slice.
struct Rows {
  std::size_t width;  ///< bytes of a row
  std::size_t height;
  std::size_t depth;

  std::size_t bytes() const { return width * height * depth; }
  bool empty() const { return width == 0 || height == 0 || depth == 0; }
};

/// Where the rows of a block lie; the pitches are in bytes.
template <class Byte>
struct Block {
  Byte* base;
  std::size_t row_pitch;
  std::size_t slice_pitch;

  Byte* row(std::size_t y, std::size_t z) const { return base + z * slice_pitch + y * row_pitch; }
};

using Target = Block<char>;
using Source = Block<const char>;

inline Target flat(void* pointer, std::size_t bytes) { return {static_cast<char*>(pointer), bytes, bytes}; }
inline Source flat(const void* pointer, std::size_t bytes) {
  return {static_cast<const char*>(pointer), bytes, bytes};
}

/// What decides whether a call waits: device memory is everything that is not the host's.
enum class Place { kPageable, kPinned, kDevice };

inline Place place_of(const void* pointer) {
  const auto allocation = find_allocation(pointer);
  if (!allocation) return Place::kPageable;
  const bool host = allocation->kind == MemoryKind::kHost || allocation->kind == MemoryKind::kRegistered;
  return host ? Place::kPinned : Place::kDevice;
}

/// The same as a profiler tells it, and whose device memory it is (-1: the host's).
struct ObservedPlace {
  MemoryPlace kind;
  int device;
};
ObservedPlace observed_place_of(const void* pointer, const Device& current);

}  // namespace ddpscope::standin
