// _PyRuntime begins with a table made for debuggers; it says too whether the build is free-threaded.
#include "injector/python/debug_offsets.h"

#include <string.h>

#include "injector/core/safe_read.h"

namespace ddpscope::injector::python {
namespace {

constexpr int kFirstThatTells = 13;

struct Begin {
  char cookie[8];
  std::uint64_t version;
  std::uint64_t free_threaded;
};

// The table has what is the same in all versions, too.
struct Known : Layout {
  std::int16_t object_type = object::kType;
  std::int16_t type_flags = type::kFlags;
  std::int16_t string_state = string::kState;
  std::int16_t string_length = string::kLength;
};

struct DebugOffset {
  std::int16_t Known::*what;
  std::int16_t places[3];  // from 3.13 on
};
constexpr DebugOffset kDebugOffsets[] = {
#define DDPSCOPE_DEBUG_OFFSET(name, what, ...) {&Known::what, {__VA_ARGS__}},
#include "injector/python/debug_offsets.def"
#undef DDPSCOPE_DEBUG_OFFSET
};

bool begins_as(Address runtime, int minor) {
  constexpr char kCookie[] = "xdebugpy";
  Begin begin;
  return read_safely(runtime, &begin, sizeof(begin)) &&
         memcmp(begin.cookie, kCookie, sizeof(begin.cookie)) == 0 &&
         begin.version >> 16 == (0x0300u | static_cast<unsigned>(minor)) && begin.free_threaded == 0;
}

}  // namespace

bool runtime_agrees(Address runtime, int minor, const Layout& layout) {
  if (!runtime || !begins_as(runtime, minor)) return false;
  const Known known{layout};
  for (const DebugOffset& entry : kDebugOffsets) {
    std::uint64_t offset = 0;
    if (!read_safely(runtime + entry.places[minor - kFirstThatTells], &offset, sizeof(offset)) ||
        offset != static_cast<std::uint64_t>(known.*entry.what))
      return false;
  }
  return true;
}

}  // namespace ddpscope::injector::python
