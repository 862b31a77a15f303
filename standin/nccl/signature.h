// What an operation must have in common on all ranks; it opens every message, so that a mismatch is seen.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <string>

namespace ddpscope::standin::nccl {

enum class Kind : std::uint32_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kPointToPoint,
  kSplit,
  kShrink,
  kGrow,
  kWindow,
  kBarrier,
};

/// No sequence number: like NCCL, operations of a communicator match by their order alone, so a rank that
/// skips one of several equal operations shifts and hangs at the last.
struct Signature {
  Kind kind;
  std::uint32_t datatype = 0;   ///< ncclDataType_t
  std::uint32_t reduction = 0;  ///< ncclRedOp_t; every pre-multiplied sum counts as ncclNumOps
  std::int32_t root = -1;
  std::uint64_t count = 0;  ///< elements as given to the call; bytes for a point-to-point message

  bool operator==(const Signature&) const = default;
};
static_assert(sizeof(Signature) == 24, "sent as it lies in memory");

/// "AllReduce of 1024 float32, sum": for messages.
std::string describe(const Signature& signature);

}  // namespace ddpscope::standin::nccl
