// The dense index from a call's number to its row.
#include "trace/calls.h"

#include <cstddef>

namespace ddpscope::trace {
namespace {

struct Index {
  const CallInfo* rows[kCallNumbers] = {};
  constexpr Index() {
    for (const CallInfo& row : kCalls) rows[static_cast<std::size_t>(row.call)] = &row;
  }
};
constexpr Index kIndex;

}  // namespace

const CallInfo* find_call(std::uint16_t number) {
  return number < kCallNumbers ? kIndex.rows[number] : nullptr;
}

}  // namespace ddpscope::trace
