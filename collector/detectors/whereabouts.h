// What a rank does, or how it ended, while its peers wait for it.
#pragma once
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "collector/findings/finding.h"
#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::detectors {

struct Whereabouts {
  std::string sentence;                   // "it has been inside socket_read since 1.300 s"
  std::optional<model::EventRef> event;   // the call that says so
  std::optional<model::EventRef> traced;  // of the main thread: the last call with a stack
  bool inside = false;                    // it has not come back from the call
  // What is equal whenever the same program comes to this: the sentence without times, files, and where a
  // signal that others sent happened to meet it.
  std::string key{};
};

// What to do about ranks that are missing.
constexpr const char* kAdviceOnMissingRanks =
    "Look at what the missing ranks do instead: an exception, an exit or a wait of their own. Let a failure "
    "on one rank end all, and check that every rank reaches this call equally often.";

// Shows where that rank is: the call, and before it, if that has no stack, the last one that has.
void add_evidence_of(const model::Job& job, const Whereabouts& found, std::int32_t rank,
                     findings::Finding& finding);

// Shows what workers of that process are inside of, for long at that moment: those at another line of the
// program than the process itself, which may wait for them (idle ones are where it made them). Two at most.
void add_evidence_of_workers(const model::Job& job, std::uint32_t process, std::int32_t rank,
                             std::int64_t at_ns, findings::Finding& finding);

// The thread that issued the member's latest call on the communicator; the process's first if it issued none.
std::uint16_t issuing_thread(const matching::Collectives& collectives, const matching::Member& member);

// All that issued calls of the member.
std::set<std::uint16_t> issuing_threads(const matching::Collectives& collectives,
                                        const matching::Member& member);

// Neither a question (a query, stat, the lock of a loader's queue), nor one for a child that had not ended.
bool brings_on(const trace::Record& record);

// What counts of a run of transfers that is open.
enum class OpenRun : std::uint8_t {
  kMayHaveJustActed,  // nobody saw more of it
  kActedAtItsBegin,   // what it came to since was seen on the machine
};

// When the process, until that moment, last began or ended a call that brings it on: of those threads or its
// first one any call, of others work for a device (PyTorch's backward pass issues collectives by a thread of
// its own). Questions that are asked again and again (queries, stat, whether a child has ended, the lock of a
// loader's queue) do not. 0 if it made none.
std::int64_t last_act_ns(const model::Job& job, std::uint32_t process, const std::set<std::uint16_t>& threads,
                         OpenRun open_run, std::int64_t until_ns = std::numeric_limits<std::int64_t>::max());

// Of the process that is `member`, when its peers have been waiting since `waited_from_ns`. The call that its
// main thread (the one that issues its collectives) is inside of comes first: a rank that is stuck is ended
// by a watchdog in the end, which tells less. Then its exit, or the signal that its parent was told of, else
// its last call.
Whereabouts find_whereabouts(const model::Job& job, const matching::Collectives& collectives,
                             const matching::Member& member, std::int64_t waited_from_ns);

}  // namespace ddpscope::detectors
