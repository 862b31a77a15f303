// Ranks that keep all others of a communicator waiting, turn after turn.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/model/lazy.h"
#include "collector/ordering/device_order.h"
#include "collector/patterns/collective_times.h"
#include "collector/patterns/framework_steps.h"
#include "collector/patterns/lost_time.h"
#include "collector/patterns/turns.h"

namespace ddpscope::patterns {

constexpr std::size_t kLeastTurns = 50;    // design, section 2
constexpr std::int64_t kLeastPercent = 5;  // of a turn: what is lost counts (design, section 2)
constexpr std::int64_t kLeastPart = 100;   // of a turn: one part in so many is no lateness

// Why lateness says nothing of the ranks on a machine with too few processors.
constexpr const char* kProcessorsShort = "its members waited for processors longer than for each other";

// In three turns of four, and often enough.
constexpr bool is_late_in_most(std::size_t late, std::size_t judged) {
  return late >= kLeastTurns && late * 4 >= judged * 3;
}

// Of one member in one turn: from when it was done with the turn before until it came to the turn's last
// collective or, by hosts, to its first; when its host issued that; until the turn was over.
struct MemberWindow {
  std::int64_t from_ns, came_ns, issued_ns, over_ns;
};

struct LateTurn {
  std::uint32_t ordinal;   // of the collective in which the others wait longest
  std::int64_t turn_ns;    // how long the turn was
  std::int64_t lost_ns;    // at least: by how much sooner it would be over if they came with the others
  std::int64_t waited_ns;  // in this collective, of the last of the others
  std::vector<MemberWindow> windows;  // by member
};

// By the times of collectives on devices, or in threads of the hosts that run them; or by when hosts issued
// their calls.
enum class KnownBy : std::uint8_t { kDevices, kRuns, kCalls };

struct LateRanks {
  std::uint32_t communicator;
  KnownBy known_by;
  std::vector<std::uint32_t> members;  // that are late, ascending
  std::uint32_t typical;               // a member that is not
  std::vector<LateTurn> turns;         // in which they were, by time
  std::size_t judged = 0;              // turns in all
  std::int64_t turn_ns = 0;            // median
  // Medians of the turns judged; waits for a processor are taken out. How much is lost at most differs if
  // device times do not show how far the others were.
  std::int64_t lost_ns = 0, most_ns = 0;
  bool waits_known = false;       // of these processes for a processor
  bool processors_short = false;  // a typical member waits longer for a processor than for the late ones

  bool counts() const { return most_ns * 100 >= turn_ns * kLeastPercent; }
};

struct LateRanksFound {
  std::optional<LateRanks> late{};
  std::optional<LateRanks> perhaps{};  // if these are others: late by what may be lost at most
  std::string doubt{};          // why nothing can be said of the communicator; empty: nothing speaks for that
  std::string too_few_turns{};  // why there are not enough to say anything; empty: there are
};

// By process; asked for only where collectives run on the hosts.
using LazyFrameworkSteps = model::Lazy<std::vector<FrameworkSteps>>;

// How late a member is: by the times of its collectives, how much later than with the typical member the turn
// is over (device_turns.h). Where collectives run on devices and these times are not known, by its host,
// where all hosts wait for each turn's end before they go on: how much later it launched its first kernel,
// and issued the turn's first collective; the lesser of the two counts, for a host that is ahead of its
// device delays nothing. The error of clocks between hosts is taken off. What a member waits for others in
// the same time is not its own: its collectives on other communicators, sends and receives, and receiving
// from sockets of the network are taken off as long as they last. Members that do not issue the same of these
// (stages of a pipeline) are not compared. Late ranks are late in three turns of four, 50 at least (design,
// section 2), by more than a hundredth of the turn: whoever is late now and then, or takes turns with others,
// has more to do in some steps. Of several communicators each is judged by itself.
LateRanksFound find_late_ranks(const model::Job& job, const matching::Collectives& collectives,
                               const ordering::DeviceOrder& device_order, const CollectiveTimes& times,
                               const LazyFrameworkSteps& steps, std::uint32_t communicator);

// Of one turn of a communicator: how much sooner it would be over if some of its members came with the last
// of the others, whatever makes them late.
struct TurnWait {
  std::vector<MemberWindow> windows;  // by member
  LostTime lost;
};

// By device times, who: by member. Nothing without these times.
std::vector<TurnWait> find_turn_waits(const model::Job& job, const matching::Collectives& collectives,
                                      const ordering::DeviceOrder& device_order, const CollectiveTimes& times,
                                      const LazyFrameworkSteps& steps, std::uint32_t communicator,
                                      const std::vector<bool>& who);

}  // namespace ddpscope::patterns
