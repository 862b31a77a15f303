// Whether the ranks' copies of a model that DistributedDataParallel reduces stay alike: by what a few
// elements of its parameters add up to, each time before they are updated.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::patterns {

struct ParameterSum {
  double sum, size;  // size: without signs
};
bool are_alike(const ParameterSum& a, const ParameterSum& b);  // but for rounding

struct CopySample {
  std::uint32_t step;  // reductions of its reducer on the communicator until then: equal on all members
  std::uint32_t parameters, elements;
  ParameterSum of;
  model::EventPlace place;
};

// By the order in which the rank's reducers began to reduce on the communicator. Samples behind steps that
// reduced nothing on it are left out: copies may differ between averages on purpose (post-local SGD).
using CopySamples = std::vector<std::vector<CopySample>>;
CopySamples find_copy_samples(const model::Job& job, const matching::Member& member);

// How the copies of two ranks go on. Counted are steps of both.
struct CopyCourse {
  std::uint32_t alike = 0, apart = 0;  // alike: before they parted
  std::uint32_t after = 0;             // since then, those that were apart among them
  std::uint32_t last_alike = 0, first_apart = 0, last_apart = 0;  // CopySample::step

  void see(const CopySample& a, const CopySample& b);
  // Nothing brings copies together again that have parted, as all are given the same gradients.
  bool parted() const { return apart >= kLeast && apart * 10 >= after * 9; }
  bool is_long_enough() const { return alike + after >= kLeast; }

  static constexpr std::uint32_t kLeast = 5;
};

struct CopyComparison {
  std::optional<std::size_t> reducer;  // the first whose copies parted
  CopyCourse course;                   // of the two ranks whose copies did so first
  std::set<std::int32_t> compared;     // ranks
};

// Of all members of whose calls none is missing.
CopyComparison compare_copies(const model::Job& job, const matching::Communicator& communicator);

}  // namespace ddpscope::patterns
