// The five collectives, over rounds of messages.
#pragma once

#include "standin/nccl/links.h"
#include "standin/nccl/profiler_events.h"
#include "standin/nccl/reduce.h"

namespace ddpscope::standin::nccl {

/// One call on one rank. `send` and `recv` may overlap only as NCCL's in-place rules allow.
struct Collective {
  Signature signature;
  const void* send;  ///< AllReduce, Broadcast, Reduce, AllGather: count elements; ReduceScatter: size * count
  void* recv;        ///< AllReduce, Broadcast, Reduce, ReduceScatter: count; AllGather: size * count
  Reduction reduction;
  profiler::Asked asked{};

  ncclDataType_t datatype() const { return static_cast<ncclDataType_t>(signature.datatype); }
  std::size_t bytes() const { return signature.count * element_size(datatype()); }
};

/// Runs one collective to its end and returns when the last rank this one depends on had joined.
/// Throws PeerLost, Mismatch, Released.
Clock::time_point run(const Collective& collective, const Links& links, std::span<Answers> answers, int rank,
                      const Release& release);

/// Bytes that the link model charges, as a ring would move them past one rank, for S = bytes() and n ranks:
/// AllReduce 2 (n-1)/n S; AllGather and ReduceScatter (n-1) S; Broadcast and Reduce S; nothing for one rank.
std::size_t moved_bytes(const Collective& collective, int size);

}  // namespace ddpscope::standin::nccl
