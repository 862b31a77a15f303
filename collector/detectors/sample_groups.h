// Which ranks train on the same samples: rank by rank their orders are read, then the orders are compared.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/detectors/sample_orders.h"

namespace ddpscope::detectors {

// Ranks that reduce gradients with each other, as far as they are seen to train.
struct SampleGroup {
  const patterns::DataParallelGroup* members;
  std::vector<RankSamples> ranks = {};                // ascending
  std::vector<std::vector<std::size_t>> shared = {};  // sets of two or more that train on the same samples
  bool in_order = false;                              // they do so in the same order; else: each all of it
  // What is known of the ranks are batches that loaders sent to workers (patterns/loader_batches.h), as
  // nobody's reading shows samples: the order of each rank's is known, and nothing of what ranks share.
  bool of_batches = false;

  bool shares(std::int32_t rank) const;
  bool holds(std::int32_t rank) const;
};

struct SampleGroups {
  std::vector<SampleGroup> groups;
  // Whose ranks are members of the one group where no ranks are known to train together.
  std::unique_ptr<const patterns::DataParallelGroup> world;
  bool compared = false;  // two ranks that train together read enough to say something
  bool ordered = false;   // likewise of the order in which each goes through its samples
  bool scanned = false;   // something was left out that tells nothing of samples (patterns/samples.h)
  bool reads = false;     // a rank was seen to read a file of data
};
SampleGroups find_sample_groups(const model::Job& job, const matching::Collectives& collectives,
                                const std::vector<patterns::DataParallelGroup>& data_parallel);

// Why too few samples are known to be compared, with numbers: a clause.
std::string describe_few_samples(const SampleGroups& found);

// Adds why samples of several ranks are unknown, if they are, as a reason to leave `slug` unjudged.
void explain_silence(const Facts& facts, std::string_view slug, findings::Outcome& outcome);

// What is not kept of a rank, once more.
patterns::TrainingReads read_again(const model::Job& job, const SampleGroup& group, std::int32_t rank);

}  // namespace ddpscope::detectors
