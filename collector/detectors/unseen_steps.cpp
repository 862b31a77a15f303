// By the habits of all ranks, which are found once.
#include "collector/detectors/unseen_steps.h"

#include "collector/detectors/story.h"
#include "collector/patterns/reduction_habits.h"

namespace ddpscope::detectors {

void tell_unseen_steps(const Facts& facts, const char* slug, findings::Outcome& outcome) {
  const patterns::ReductionHabits& habits = facts.reduction_habits.get();
  if (!habits.captured.empty())  // the optimizer, too, may be in them
    outcome.leave_unjudged({"gradient reductions of " + list_ranks(habits.captured),
                            "graphs are launched, and what was captured in them shows in no call: "
                            "micro-batches, uses of gradients, updates",
                            {slug}});
  else if (habits.reduced && !habits.optimized)
    outcome.leave_unjudged({"optimizer steps",
                            "gradients are reduced, but neither a kernel nor a range of the program (NVTX) "
                            "has the name of an optimizer's update",
                            {slug},
                            true});
}

}  // namespace ddpscope::detectors
