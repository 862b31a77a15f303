// What the host of one rank asks of its device in some stretches of time, as far as a replay needs it.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/ordering/streams.h"
#include "collector/patterns/stretch.h"

namespace ddpscope::patterns {

struct DeviceCall {
  enum class Kind : std::uint8_t {
    kLaunches,  // a run of them in one stream
    kCopy,      // or memory set: what takes little time
    kCollective,
    kRecordEvent,
    kAwaitEvent,  // by the stream
    kWaitForStream,
    kWaitForEvent,
    kWaitForDevice,
  };
  Kind kind;
  std::uint32_t launches = 0;
  ordering::StreamNumber stream = 0;
  std::uint32_t collective = matching::kNone;  // into Collectives::calls
  std::uint64_t event = 0;
  double before_ns = 0;  // that the host did something else
  double host_ns = 0;    // that the host needs for it; 0 for waits, however long they took
};

// Of the job's time.
struct StretchOfCalls {
  Stretch stretch;
  std::vector<DeviceCall> calls;  // in the order in which they began
  double after_ns = 0;            // that the host did something else
};

struct DeviceCalls {
  ordering::Streams streams;
  std::vector<StretchOfCalls> stretches;
};

// `stretches` ascend and do not overlap. Of those that have room, together, for `most` calls, the first ones.
// One pass over the process's calls for the device. All its threads count as one host, whose program order
// is that of the begins: where a thread works for another (a backward pass), that one waits. Waits of threads
// that enqueue nothing are left out. What a launch takes far beyond the quickest it waits for room in the
// device's queue.
DeviceCalls read_device_calls(const model::Job& job, const matching::Collectives& collectives,
                              std::uint32_t process, std::span<const Stretch> stretches, std::size_t most);

}  // namespace ddpscope::patterns
