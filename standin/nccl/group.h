// ncclGroupStart and ncclGroupEnd: what a thread's group has gathered, and its start at the outermost end.
#pragma once

#include <functional>
#include <memory>

#include "standin/nccl/communicator.h"

namespace ddpscope::standin::nccl::group {

void start();

/// At the outermost level: creates the communicators that were asked for, all at once, then enqueues one plan
/// for each communicator that got operations. Throws Failure if anything in the group failed; then nothing
/// started. True: a creation goes on by itself.
bool end();

/// Ends the group without starting anything; how long the link model would let it last.
std::chrono::nanoseconds simulate_end();

/// Notes that a call of the open group failed, so that its end does too. No effect outside of a group.
void note_failure(ncclResult_t result);

/// Runs a creation of a communicator, or another call that waits for its peers: at the end of the open group,
/// or now. It returns true if it goes on by itself; so does this if that is the case already. Those that meet
/// over one communicator (`on`) run one after the other: all ranks must bring them in the same order.
bool run(const Communicator* on, std::function<bool()> creation);

/// Adds operations to the open group's plan for `communicator`, or enqueues them now as a plan of their own.
void submit(const std::shared_ptr<Communicator>& communicator, cudaStream_t stream,
            std::span<const Collective> collectives, std::span<const Message> messages,
            std::span<const OneSidedCall> one_sided = {});

}  // namespace ddpscope::standin::nccl::group
