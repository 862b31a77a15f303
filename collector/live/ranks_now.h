// What each rank does at the moment of a look.
#pragma once
#include <map>
#include <optional>
#include <set>

#include "collector/detectors/code_places.h"
#include "collector/live/look.h"
#include "collector/matching/collectives.h"

namespace ddpscope::live {

// A rank's part in a stall. Without an event it is at fault.
struct Wait {
  Condition condition;
  std::optional<model::EventRef> event;            // the host's wait
  std::optional<matching::CollectiveCall> call{};  // that it waits for
};
using Waits = std::map<std::int32_t, Wait>;  // by rank

// The question ("cudaEventQuery") that the threads have asked again and again, and done nothing else, for
// long; how long at least. acted_ns: when it last did something else, as detectors::last_act_ns() has it.
struct Asking {
  std::string question;
  std::int64_t for_ns;
};
std::optional<Asking> find_asking(const model::Job& job, std::uint32_t process,
                                  const std::set<std::uint16_t>& threads, std::int64_t acted_ns);

// Of the thread with the only one of these numbers; of the main thread if there are several, or it is not
// known.
std::int32_t find_tid(const model::Process& process, const std::set<std::uint16_t>& threads);

// `threads`: by process, those that issue collectives.
std::vector<RankNow> find_ranks_now(const model::Job& job,
                                    const std::vector<std::set<std::uint16_t>>& threads, const Waits& waits,
                                    const detectors::CodePlaces& places);

}  // namespace ddpscope::live
