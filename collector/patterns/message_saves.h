// Likewise in a job without NCCL (Gloo): the others' main threads wait for one of their own process that
// hears from the saving rank only when its files are written.
#pragma once
#include <vector>

#include "collector/ordering/happens_before.h"
#include "collector/patterns/gradient_traffic.h"
#include "collector/patterns/slow_saves.h"

namespace ddpscope::patterns {

// Main threads of ranks, of a job without a communicator in which one waits as long as a slow save: that
// these waits come after the closing of files will be asked. None in all other jobs.
std::vector<ordering::ThreadId> threads_of_message_saves(const model::Job& job,
                                                         const matching::Collectives& collectives,
                                                         const std::vector<files::WrittenFile>& written);

// As find_slow_saves. In place of rounds: the main thread of each other rank waits for another thread
// (trace/hand_overs.h: kWaitedShift), all of them at the same time, and edges that were seen put the closing
// of the files before the end of each of these waits. The saving rank's main thread opens, writes and closes
// them after it was woken last. Gradients are what goes over TCP between the ranks of `groups`.
std::vector<SlowSave> find_message_saves(const model::Job& job, const matching::Collectives& collectives,
                                         const std::vector<files::WrittenFile>& written,
                                         const std::vector<DataParallelGroup>& groups,
                                         const ordering::HappensBefore& order);

// Whether waits of each rank were recorded, all of them.
bool waits_are_known(const model::Job& job);

}  // namespace ddpscope::patterns
