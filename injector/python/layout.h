// Where CPython 3.11 keeps frames, code objects and strings: offsets on x86-64, release build, from its
// Include/cpython/pystate.h, Include/internal/pycore_frame.h, Include/cpython/code.h and
// Include/cpython/unicodeobject.h. The same in all of 3.11: the ABI does not change within a minor version.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ddpscope::injector::python {

constexpr unsigned long kMinorVersion = 0x030B;  // of Py_Version, without micro version and release level

using Address = std::uintptr_t;

namespace object {
constexpr std::size_t kType = 8;
}
namespace thread_state {
constexpr std::size_t kInterpreter = 16;
constexpr std::size_t kCFrame = 56;
}  // namespace thread_state
namespace c_frame {
constexpr std::size_t kCurrentFrame = 8;
}
namespace frame {
constexpr std::size_t kCode = 32;
constexpr std::size_t kPrevious = 48;
constexpr std::size_t kInstruction = 56;  // last one begun, in the code's bytes
constexpr std::size_t kBytes = 64;        // of it that are looked at
}  // namespace frame
namespace code {
constexpr std::size_t kFirstLine = 72;
constexpr std::size_t kFileName = 112;
constexpr std::size_t kQualifiedName = 128;
constexpr std::size_t kInstructions = 184;
}  // namespace code
namespace string {
constexpr std::size_t kLength = 16;
constexpr std::size_t kState = 32;
constexpr std::size_t kAsciiData = 48;
constexpr std::size_t kData = 72;  // where it is not ASCII
constexpr unsigned kAscii = 1u << 6;
constexpr unsigned kKindShift = 2;  // bytes a character: 1, 2 or 4
constexpr unsigned kKindMask = 7;
}  // namespace string

template <class T>
T at(Address address, std::size_t offset) {
  return *reinterpret_cast<const T*>(address + offset);
}

}  // namespace ddpscope::injector::python
