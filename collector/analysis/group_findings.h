// What ranks do on the process groups of torch.distributed: judged apart from NCCL's communicators, by the
// same detectors.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "collector/detectors/known_calls.h"

namespace ddpscope::analysis {

class GroupFindings {
 public:
  GroupFindings(const model::Job& job, const detectors::CodePlaces& places);
  GroupFindings(const GroupFindings&) = delete;
  GroupFindings& operator=(const GroupFindings&) = delete;

  const matching::Collectives& calls() const { return calls_; }
  const std::vector<bool>& barriers() const { return barriers_; }
  // Those of the job with the groups' calls in the place of NCCL's. Refers to this and to what `of_job`
  // refers to.
  detectors::Facts facts_in(const detectors::Facts& of_job);

  // By skipped-barrier, mismatched-collective, divergent-existence-check, rank-divergence, (`hangs`: of a job
  // that is over) hung-collective and, of a job that does not train by NCCL, straggler and slow-checkpoint,
  // of these as many as `is_asked` says. `facts`: of the job, and those with the groups' calls.
  void detect(const detectors::Facts& facts, const detectors::Facts& groups,
              bool (*is_asked)(std::string_view, const std::vector<std::string>&),
              const std::vector<std::string>& only, bool hangs, findings::Outcome& outcome) const;

  // Slugs whose absence means something: all groups' calls are known.
  std::set<std::string> judged(bool hangs) const;

 private:
  const model::Job& job_;
  matching::Collectives calls_;
  detectors::KnownCalls known_;
  std::vector<bool> barriers_;  // by call
  model::Lazy<patterns::CollectiveTimes> times_;
  std::vector<patterns::DataParallelGroup> training_;
};

}  // namespace ddpscope::analysis
