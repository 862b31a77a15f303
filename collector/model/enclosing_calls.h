// Calls of a framework inside which its program does other things, and waits by other means.
#pragma once
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

}  // namespace ddpscope::model
