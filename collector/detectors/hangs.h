// Collectives, sends and receives that some host waits for in vain, a communicator at a time.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/detectors/owed_signals.h"
#include "collector/detectors/patience.h"
#include "collector/ordering/stuck_work.h"

namespace ddpscope::detectors {

using Members = std::vector<std::uint32_t>;  // by index in the communicator

struct Hang {
  std::uint32_t communicator;
  std::size_t ordinal = 0;        // of the collective that stands in the way; 0 of a send or receive
  Members waiting;                // their host waits for it
  Members other{};                // issued another call in its place
  Members absent{};               // issued no more calls
  Members behind{};               // issued it where it has to wait for another hang's call
  Members lost{};                 // to the job (member_endings.h), all of them, whatever they issued
  Members cut{};                  // lost, after they had issued it
  Members held_up{};              // issued no more calls because others were lost, or failed
  bool unknown = false;           // a member's recording lost calls: it may be the missing one
  bool given_up = true;           // by all that wait: the job itself took it for a hang
  bool gone = false;              // an absent member had ended, or left the communicator, before its peers
  bool at_work = false;           // who is missing was, when the job was ended from outside: it may have come
  bool followed = false;          // who is absent is so because of others' ends, and nobody here is to blame
  bool behind_unawaited = false;  // it stands behind a call that cannot complete, and for which no host waits
  bool counts = false;            // it is a hang, not a job that was cut short
  bool first_of_its_kind = false;  // no such operation of this communicator was seen to complete before
  std::int64_t longest_wait = 0;
  std::int64_t needed_wait = 0;               // to count
  std::optional<OwedSignals> owed_signals{};  // for which one that is missing, or waits, may wait
  // Of a send or receive: the call of the one that waits, and the one that it pairs with, if that was issued.
  std::uint32_t message = matching::kNone, answer = matching::kNone;

  bool is_lost(std::uint32_t member) const;
  bool is_message() const { return message != matching::kNone; }
  // All members that left a trace issued it, and others left none.
  bool misses_only_unseen(const CallFacts& facts) const;
  // Somebody, and all of them are among these.
  bool misses_only(const CallFacts& facts, const std::set<std::uint32_t>& processes) const;
  // What the member issued here, by number; kNone if nothing.
  std::uint32_t issued(const CallFacts& facts, std::uint32_t member) const;
  matching::CollectiveCall call(const CallFacts& facts) const;  // as the first that waits issued it
  Members missing() const;                                      // other, absent and behind
  bool all_issued(
      const CallFacts& facts) const;  // all members of the communicator, of which each left a trace
};

// One for each communicator in which some host waits for a collective, and one for each send and receive that
// stands in the way of a host (`stuck`: of the device work that is not complete). A job that was killed at
// its time limit stood in some collective, too: a wait counts once it is longer than max(2 s, 10 x p99 of
// that operation), or if the missing rank had ended, or destroyed the communicator, before (design, section
// 2); and if the job was ended from
// outside, not while all that are missing were at work: they began or ended a call less than 2 s before, or
// are saving; nor, up to kPatience times as long, if only ranks that left no trace can be missing. What was
// sent a signal to end has neither waited nor ended by itself from then on. Who issued the call and was lost
// (its host lost its power) does not count as waiting, and who did not issue it because of that does not
// count as missing.
std::vector<Hang> find_hangs(const CallFacts& facts, const ordering::StuckWork& stuck);

// Of a member that is missing, by hang.waiting, longest_wait and needed_wait.
bool is_at_work(const CallFacts& facts, const ordering::StuckWork& stuck, const Hang& hang,
                const matching::Member& absent);

}  // namespace ddpscope::detectors
