// Where this process's CPython keeps what a stack is read from (layouts.def), and how that is read.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ddpscope::injector::python {

using Address = std::uintptr_t;

struct Layout {
#define DDPSCOPE_PYTHON(what, ...) std::int16_t what;
#include "injector/python/layouts.def"
#undef DDPSCOPE_PYTHON
};

constexpr Layout layout_in_column(int number) {
  Layout layout{};
#define DDPSCOPE_PYTHON(what, ...)                \
  {                                               \
    constexpr std::int16_t row[] = {__VA_ARGS__}; \
    layout.what = row[number];                    \
  }
#include "injector/python/layouts.def"
#undef DDPSCOPE_PYTHON
  return layout;
}

// From Python 3.8 on.
inline constexpr Layout kLayouts[] = {layout_in_column(0), layout_in_column(1), layout_in_column(2),
                                      layout_in_column(3), layout_in_column(4), layout_in_column(5),
                                      layout_in_column(6), layout_in_column(7)};
inline constexpr int kFirstMinor = 8;
inline constexpr int kLayoutCount = sizeof(kLayouts) / sizeof(kLayouts[0]);

// The same in all versions.
namespace object {
constexpr std::size_t kType = 8;
}
namespace type {
constexpr std::size_t kFlags = 168;
constexpr unsigned long kIsString = 1ul << 28;  // Py_TPFLAGS_UNICODE_SUBCLASS: str has it too
}  // namespace type
namespace thread_status {
constexpr unsigned kActive = 1u << 4;  // runs, that is: holds the GIL
}
namespace frame {
// From here on a frame stands for an entry of the interpreter's own, and has no code (FRAME_OWNED_BY_CSTACK;
// from 3.14 on FRAME_OWNED_BY_INTERPRETER).
constexpr char kOwnedByInterpreter = 3;
}  // namespace frame
namespace string {
constexpr std::size_t kLength = 16;
constexpr std::size_t kState = 32;
constexpr unsigned kKindShift = 2;  // bytes a character: 1, 2 or 4
constexpr unsigned kKindMask = 7;
constexpr unsigned kCompact = 1u << 5;  // else a subclass's: the characters stand elsewhere
constexpr unsigned kAscii = 1u << 6;
}  // namespace string

template <class T>
T at(Address address, std::size_t offset) {
  T value;
  __builtin_memcpy(&value, reinterpret_cast<const void*>(address + offset), sizeof(value));
  return value;
}

}  // namespace ddpscope::injector::python
