// What payload::StreamIo and payload::StoreKey say of a stream; the names stand in named_values.def.
#pragma once
#include <cstdint>

namespace ddpscope::trace {

// StreamIo::flags, joined by |.
constexpr std::uint32_t kStreamEnded = 1;    // the last receive found the end
constexpr std::uint32_t kSendingEnds = 2;    // what a close or shutdown gives up
constexpr std::uint32_t kReceivingEnds = 4;  // likewise
constexpr std::uint32_t kDatagrams = 8;      // no stream

// What a request to a key-value store does with its key. kUnknown: from here on the connection's requests are
// not told.
enum class StoreOperation : std::uint8_t {
  kUnknown,
  kSet,
  kCompareSet,
  kGet,
  kAdd,
  kCheck,
  kWait,
  kCountKeys,
  kRemove,
  kAppend,
  kWatch,
  kPush,
  kPop,
  kLength,
};

}  // namespace ddpscope::trace
