// Whether ranks that were seen to exchange data over TCP hold copies of one model.
#pragma once
#include <vector>

#include "collector/patterns/gradient_traffic.h"
#include "collector/patterns/training_reads.h"

namespace ddpscope::patterns {

// What goes over TCP has no name: gradients, but also activations of a model that is split (its parts are
// given the same samples on purpose), or what members of a population tell each other now and then. Copies of
// one model show by amounts: one rank sends the whole model to the others, so that they start alike; and
// between two batches every rank sends and receives what an all-reduce of just that size
// takes: 2 (n - 1) / n times the model. True for groups of communicators, whose calls say what they do.
bool hold_replicas(const DataParallelGroup& group, const std::vector<TrainingReads>& reads);

}  // namespace ddpscope::patterns
