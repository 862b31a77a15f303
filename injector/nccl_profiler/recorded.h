// What of an event goes into the trace.
#pragma once
#include "injector/nccl_profiler/operations.h"
#include "injector/nccl_profiler/sessions.h"
#include "injector/nccl_profiler/told.h"

namespace ddpscope::injector::profiler {

// The operation that it is about; 0: of none that the trace has. `parents`: that of its parent.
OperationRef begin_recorded(Session& session, const Told& told, OperationRef parents);
void end_recorded(const Session& session, std::uint32_t type, OperationRef operation);

}  // namespace ddpscope::injector::profiler
