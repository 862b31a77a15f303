// Whether ranks that were seen to exchange data over TCP hold copies of one model.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/patterns/gradient_traffic.h"

namespace ddpscope::patterns {

// What a rank sends and receives from its second batch on. Calls that go on where the last one stopped are
// one record, and batches may be taken two at a time: there were at least as many exchanges as stretches
// between batches in which some begin or end, and at most as many as batches.
struct Exchanges {
  double sent = 0, received = 0;  // bytes
  double least = 0, most = 0;     // how many
};
// `taken_ns`: when the rank took its batches, ascending. Nothing in groups of communicators.
Exchanges find_exchanges(const DataParallelGroup& group, std::int32_t rank,
                         const std::vector<std::int64_t>& taken_ns);

// What goes over TCP has no name: gradients, but also activations of a model that is split (its parts are
// given the same samples on purpose), or what members of a population tell each other now and then. Copies of
// one model show by amounts: one rank sends the whole model to the others, so that they start alike; and
// between two batches every rank sends and receives what an all-reduce of just that size
// takes: 2 (n - 1) / n times the model. True for groups of communicators, whose calls say what they do.
// `exchanges`: of the ranks that are seen to train.
bool hold_replicas(const DataParallelGroup& group, const std::vector<Exchanges>& exchanges);

// What each rank sends and receives in an all-reduce of the model that was handed out; 0 if none was.
double bytes_of_all_reduce(const DataParallelGroup& group);

}  // namespace ddpscope::patterns
