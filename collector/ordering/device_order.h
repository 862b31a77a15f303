// Streams and events of each process: which collectives a wait of the host covers, hence when the host knew
// that they were complete.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::ordering {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// One wait of the host that covers at least one collective that its thread had not waited for; or a send or
// receive that did not return.
struct HostWait {
  model::EventRef event;
  std::int64_t begin_ns;
  std::int64_t end_ns;  // kNever: it did not return, or returned an error
  std::uint16_t thread;
};

// What is known of one collective.
struct Completion {
  std::uint32_t wait = matching::kNone;  // the first successful wait that covers it, into waits
  std::uint32_t own_wait =
      matching::kNone;  // the first wait that covers it by the thread that issued it, successful or not
  std::uint32_t blocked = matching::kNone;  // the first wait that covers it and did not succeed

  bool operator==(const Completion&) const = default;
};

struct DeviceOrder {
  std::vector<HostWait> waits;
  // By call, as in Collectives::calls:
  matching::RepeatedValues<Completion> completions;
  std::vector<bool> looked_at;  // a wait that said "done" or another stream refers to it
  std::vector<bool> followed;   // the next in its stream is its thread's and its communicator's next, too

  std::int64_t complete_ns(std::uint32_t call) const {
    std::uint32_t wait = completions[call].wait;
    return wait == matching::kNone ? kNever : waits[wait].end_ns;
  }
};

// By the rules of replay_device().
DeviceOrder find_device_order(const model::Job& job, const matching::Collectives& collectives);

}  // namespace ddpscope::ordering
