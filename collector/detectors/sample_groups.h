// Which ranks train on the same samples: rank by rank their orders are read, then the orders are compared.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "collector/detectors/sample_orders.h"
#include "collector/findings/finding.h"
#include "collector/patterns/replicas.h"

namespace ddpscope::detectors {

// Ranks that reduce gradients with each other, as far as they are seen to train.
struct SampleGroup {
  const patterns::DataParallelGroup* members;
  std::vector<RankSamples> ranks = {};                // ascending
  std::vector<patterns::Exchanges> exchanges = {};    // by rank
  std::vector<std::vector<std::size_t>> shared = {};  // sets of two or more that train on the same samples
  bool in_order = false;                              // they do so in the same order; else: each all of it

  bool shares(std::int32_t rank) const;
  bool holds(std::int32_t rank) const;
};

struct SampleGroups {
  std::vector<SampleGroup> groups;
  bool compared = false;  // two ranks read enough to say something
  bool replicas = true;   // none is left out because its ranks don't show that they hold one model
  bool scanned = false;   // something was left out that tells nothing of samples (patterns/samples.h)
};
SampleGroups find_sample_groups(const model::Job& job, const matching::Collectives& collectives,
                                const std::vector<patterns::DataParallelGroup>& data_parallel);

// Found at the first question, in one pass through the reading of all ranks for all who ask.
class LazySampleGroups {
 public:
  LazySampleGroups(const model::Job& job, const matching::Collectives& collectives,
                   const std::vector<patterns::DataParallelGroup>& data_parallel)
      : job_(job), collectives_(collectives), data_parallel_(data_parallel) {}
  const SampleGroups& get() const {
    if (!groups_) groups_ = find_sample_groups(job_, collectives_, data_parallel_);
    return *groups_;
  }
  // Adds why samples of several ranks are unknown, if they are, as a reason to leave `slug` unjudged.
  void explain_silence(std::string_view slug, std::vector<findings::Coverage>& coverage) const;

 private:
  const model::Job& job_;
  const matching::Collectives& collectives_;
  const std::vector<patterns::DataParallelGroup>& data_parallel_;
  mutable std::optional<SampleGroups> groups_;
};

// What is not kept of a rank, once more.
patterns::TrainingReads read_again(const model::Job& job, const SampleGroup& group, std::int32_t rank);

}  // namespace ddpscope::detectors
