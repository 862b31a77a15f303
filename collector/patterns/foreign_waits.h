// For how long a rank has to do with others than the members of one communicator: what it waits for there is
// not its own slowness.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/ordering/device_order.h"
#include "collector/patterns/collective_times.h"

namespace ddpscope::patterns {

class ForeignWaits {
 public:
  // Of `member`, all that is not on its communicator: collectives and messages on others and messages on this
  // one, as long as the device took or, untimed, as the host waited for them; and receiving from sockets of
  // the network, by its main thread or one that issues collectives.
  ForeignWaits(const model::Job& job, const matching::Collectives& collectives,
               const ordering::DeviceOrder& device_order, const CollectiveTimes& times,
               std::uint32_t communicator, const matching::Member& member);

  std::int64_t within(std::int64_t from_ns, std::int64_t to_ns) const;
  // Of the calls that begin then, how many have no device time.
  std::size_t untimed_within(std::int64_t from_ns, std::int64_t to_ns) const;
  // The operations of the first of these calls, in order: equal for members that have the same part in the
  // job, as stages of a pipeline have not.
  const std::vector<trace::Operation>& shape() const { return shape_; }

 private:
  struct Wait {
    std::int64_t begin_ns, end_ns;
  };
  void add_calls(const matching::Collectives& collectives, const ordering::DeviceOrder& device_order,
                 const CollectiveTimes& times, std::uint32_t communicator, const matching::Member& member);
  void add_receiving(const model::Job& job, const matching::Collectives& collectives,
                     const matching::Member& member);
  void join();

  std::vector<Wait> waits_;               // by begin, none overlaps another
  std::vector<std::int64_t> untimed_ns_;  // ascending
  std::vector<trace::Operation> shape_;
};

}  // namespace ddpscope::patterns
