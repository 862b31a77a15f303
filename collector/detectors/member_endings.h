// How members of a communicator ended: of their own doing, lost to the job by none of it, or because others
// were.
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "collector/detectors/hangs.h"

namespace ddpscope::detectors {

// By itself, with the code of a failure.
bool failed(const CallFacts& facts, const matching::Member& member);

// As was seen of a job that runs.
bool cannot_go_on(const model::Process& process);

// Before anybody told it to end: it failed, or its communicator reported an error or was aborted.
bool gave_up(const CallFacts& facts, const matching::Member& member);

// The call that finalized or destroyed its communicator.
std::optional<model::EventRef> find_leaving(const model::Job& job, const matching::Member& member);

// From when what it does may be due to something that went wrong: an abort or error of the communicator, a
// signal to end, a failure; ns of the job, kNever.
std::int64_t disturbed_ns(const CallFacts& facts, const matching::Member& member);

// It finalized or destroyed the communicator, or its process ended with 0, before any member was disturbed:
// it issues no more calls there, whatever the others do.
bool left_by_itself(const CallFacts& facts, const matching::Communicator& communicator,
                    const matching::Member& member);

// When its host gave up, was told to end, or was last seen; ns of the job.
std::int64_t end_of(const CallFacts& facts, const matching::Member& member);

// Since when its host waits in vain for calls of this communicator, ns of the job; nothing if it does not.
std::optional<std::int64_t> waits_since_ns(const CallFacts& facts, const matching::Member& member);

// By rank of the job: its process.
using LostRanks = std::map<std::int32_t, std::uint32_t>;

// Ranks that were lost to the job: no end of their own is recorded, nobody told them to end, and all others
// of a communicator noticed that somebody was gone and then failed, went on for a second, or were told to end
// seconds later. All of them together: those of a host that lost its power notice nothing of each other. None
// if the whole job may have been killed rank by rank.
LostRanks find_lost(const CallFacts& facts);
Members lost_members(const matching::Communicator& communicator, const LostRanks& lost);

// A member of hang.absent ended while its peers went on.
bool ended_before(const CallFacts& facts, const Hang& hang, std::uint32_t absent);

// Those of the lost members that issued the call: they do not wait for it any more. Fills hang.cut.
void find_cut(const CallFacts& facts, Hang& hang);

// Of the absent, those that follow from other ranks' ends: they wait in an earlier call, perhaps for what a
// lost rank had still to send, or were told of an end while they were on their way. They are moved to
// hang.held_up, or, if nobody is left to blame here, hang.followed is set. Who was lost when its peers had
// waited for long already is no reason for anything. Wants hang.needed_wait.
void excuse_followers(const CallFacts& facts, const LostRanks& lost, Hang& hang);

}  // namespace ddpscope::detectors
