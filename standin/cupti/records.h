// Records as the newest structs of NVIDIA's header lay them out.
#pragma once

#include <cupti.h>

#include "standin/cuda/observer.h"

namespace ddpscope::standin::cupti {

/// Context n belongs to device n - 1: a process has the primary context of each device and no other.
inline std::uint32_t context_of(int device) { return static_cast<std::uint32_t>(device) + 1; }

/// The context's handle: an address that is nothing but its own.
CUcontext context_handle(int device);
/// -1 where the handle is no context.
int device_of(CUcontext context);

/// The times of an activity, by the client's clock.
struct Times {
  std::uint64_t queued = 0;  ///< 0 unless asked for
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

CUpti_ActivityKernel10 kernel_record(const Activity& activity, CUpti_ActivityKind kind,
                                     std::uint32_t correlation, Times times);
CUpti_ActivityMemcpy6 copy_record(const Activity& activity, std::uint32_t correlation, Times times);
CUpti_ActivityMemcpyPtoP4 peer_copy_record(const Activity& activity, std::uint32_t correlation, Times times);
CUpti_ActivityMemset4 fill_record(const Activity& activity, std::uint32_t correlation, Times times);
CUpti_ActivitySynchronization2 synchronization_record(const Synchronization& wait, std::uint32_t correlation,
                                                      std::uint64_t end);
CUpti_ActivityAPI api_record(const ApiCall& call, std::uint64_t end, std::uint32_t thread);
CUpti_ActivityExternalCorrelation external_record(CUpti_ExternalCorrelationKind kind, std::uint64_t id,
                                                  std::uint32_t correlation);

/// Bytes of a record of `kind`; 0 for a kind that is never written.
std::size_t record_size(CUpti_ActivityKind kind);

}  // namespace ddpscope::standin::cupti
