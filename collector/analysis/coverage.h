// What the trace as such cannot show, whatever the detectors look for.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/findings/finding.h"
#include "collector/matching/collectives.h"
#include "collector/model/job.h"

namespace ddpscope::analysis {

// `judged`: slugs that were judged of a job without NCCL, by its process groups, or by how it ended.
void add_coverage(const model::Job& job, const matching::Collectives& collectives,
                  const std::set<std::string>& judged, const std::vector<Error>& errors,
                  std::vector<findings::Coverage>& coverage);

// Leaves out what concerns other findings than these slugs.
void keep_requested(const std::vector<std::string>& only, std::vector<findings::Coverage>& coverage);

// Slugs that have a detector.
struct Unjudged {
  std::set<std::string> entirely, in_part;
};
Unjudged find_unjudged(const std::vector<findings::Coverage>& coverage);

// What is wrong if two or more ranks ran and nothing that was looked for could be judged. `where` is left to
// the caller.
std::optional<Error> tell_if_nothing_was_judged(const model::Job& job, const findings::Outcome& outcome);

}  // namespace ddpscope::analysis
