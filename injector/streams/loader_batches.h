// Batches that PyTorch's DataLoader asks its workers for: which samples of the data set, in which order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "trace/payloads.h"

namespace ddpscope::injector {

// Reads what the loader puts into a worker's pipe, torch/utils/data/dataloader.py: the pickled tuple of the
// batch's number and the list of indices that the sampler drew. Nothing if it is anything else: iterable data
// sets (a list of None), samplers that draw no plain integers, single indices (batch_size=None: pairs of
// integers go through other pipes, too), other queues.
std::optional<trace::payload::LoaderBatch> read_loader_batch(const void* bytes, std::size_t size);

}  // namespace ddpscope::injector
