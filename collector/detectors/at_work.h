// What keeps a rank that others wait for, and does not hang: work, and waits that end by themselves.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "collector/model/job.h"

namespace ddpscope::detectors {

constexpr std::int64_t kEndOfTrace = std::numeric_limits<std::int64_t>::max();

// Threads: numbers in the process; its main thread always counts among them.
using Threads = std::set<std::uint16_t>;

// Of any thread of the process, or of those that it has made: kMoves if a call that writes files began or
// ended in the last kLongWait before the moment, kInside if one was under way for longer.
enum class Saving : std::uint8_t { kNone, kInside, kMoves };
Saving saving(const model::Job& job, std::uint32_t process, std::int64_t at_ns);

// Most of the time between the two its threads, and the processes that it has made, computed or moved bytes
// of files, as `ddpscope run` saw (model::Sighting). False where it saw nothing at `at_ns`.
bool computed(const model::Job& job, std::uint32_t process, std::int64_t from_ns, std::int64_t at_ns);

// Where its main thread was seen at about that moment, as trace::payload::Sighting has it; empty if it ran
// code of its own, or nobody looked.
std::string_view seen_inside(const model::Job& job, std::uint32_t process, std::int64_t at_ns);

// The call in which one of these threads waits for its device, which may be at work for long.
std::optional<model::EventPlace> device_wait(const model::Job& job, std::uint32_t process,
                                             const Threads& threads, std::int64_t at_ns = kEndOfTrace);

// One of these threads is inside a call of MPI, where it asks again and again, however busy that looks.
bool waits_by_mpi(const model::Job& job, std::uint32_t process, const Threads& threads,
                  std::int64_t at_ns = kEndOfTrace);

// Waits for a thread or a child of its own, which may be at work in ways that are not recorded: inside a call
// for that or, where it waits on a descriptor (`on_descriptor`: inside a call that does, or that is not
// known), for a program that it started after its last collective and message, and has not awaited yet.
bool awaits_own(const model::Job& job, std::uint32_t process, const Threads& threads, bool on_descriptor,
                std::int64_t at_ns = kEndOfTrace);

// What the last of these threads that did anything by that moment did was to speak with somebody of whom
// nothing is recorded: a server outside of the job, a program behind a pipe. It may wait for an answer.
bool spoke_with_an_outsider(const model::Job& job, std::uint32_t process, const Threads& threads,
                            std::int64_t at_ns = kEndOfTrace);

// In a sleep that ends by itself: not one between two looks whether something has come. `inside`: as
// seen_inside() has it; `acted_ns`: as last_act_ns() has it.
bool sleeps(const model::Job& job, std::uint32_t process, const Threads& threads, std::string_view inside,
            std::int64_t acted_ns, std::int64_t at_ns = kEndOfTrace);

// In a call that waits for what somebody sends, or until it can be sent to. `inside`: as seen_inside() has
// it.
bool awaits_a_peer(std::string_view inside);

}  // namespace ddpscope::detectors
