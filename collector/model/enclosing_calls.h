// Calls of a framework inside which its program does other things, and waits by other means.
#pragma once
#include <string_view>

#include "trace/format.h"
#include "trace/read/operation_set.h"

namespace ddpscope::model {

// That a thread is inside one of them does not say what it does: a forward reads files, the wait for a
// collective of Gloo is a wait for another thread, by futex.
constexpr trace::OperationSet kEnclosingCalls{trace::Operation::kGroupCollective,
                                              trace::Operation::kGroupBarrier,
                                              trace::Operation::kGroupPointToPoint,
                                              trace::Operation::kGroupWait,
                                              trace::Operation::kBackward,
                                              trace::Operation::kGradientReducer,
                                              trace::Operation::kOptimizerStep,
                                              trace::Operation::kZeroGradients,
                                              trace::Operation::kForward};

// A call of MPI: what its thread does inside is to wait, and to ask again and again.
inline bool is_of_mpi(std::uint16_t call) {
  const trace::CallInfo* info = trace::find_call(call);
  return info && std::string_view(info->symbol).starts_with("MPI_");
}

inline bool encloses_others(const trace::Record& record) {
  return kEnclosingCalls.has(trace::operation_of(record.call)) && !is_of_mpi(record.call);
}

}  // namespace ddpscope::model
