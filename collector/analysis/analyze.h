// From a trace to findings: every layer in order.
#pragma once
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/findings/finding.h"
#include "collector/reading/read_trace.h"
#include "trace/write/identity.h"

namespace ddpscope::analysis {

struct Analysis {
  model::Job job;
  findings::Outcome outcome;    // findings attributed, worst first
  std::vector<Error> errors;    // files that could not be read or only in part
  std::vector<Error> warnings;  // files that were left out and are not missed
  // Two or more ranks ran, but nothing that was looked for could be judged: why. `where` is empty.
  std::optional<Error> nothing_judged{};
};

// What is known before findings are looked for: the calls on communicators of NCCL; of a job that makes none,
// those on process groups.
struct Matched {
  const model::Job& job;
  const matching::Collectives& collectives;
  const std::vector<bool>& barriers;  // by call, as in collectives.calls
};

// Who wants to see more of an analysis than its end. Called in this order; each may be empty.
struct Onlooker {
  // The ranks are known and their times are the job's.
  std::function<void(const model::Job& job)> begun{};
  // What it returns may go on beside the search for findings, and is waited for before anything is gone.
  std::function<std::future<void>(const Matched& facts)> matched{};
  std::function<void(const Analysis& analysis)> judged{};
  // Last, with everything that was derived and will be gone. `matched`: the facts with the calls of Matched.
  std::function<void(const detectors::Facts& facts, const detectors::Facts& matched,
                     const Analysis& analysis)>
      look{};
};

// `only`: slugs of the detectors to run, empty for all. `here`: who asks, and where. With it a job
// that still runs is judged for hangs as `status` does it; without it what is in the trace is all there
// is. `attempt`, and errors: as read_trace.
Result<Analysis> analyze(const std::filesystem::path& trace, const std::vector<std::string>& only,
                         reading::Progress& progress, const trace::Identity* here = nullptr,
                         std::int32_t attempt = -1, const Onlooker& onlooker = {});

}  // namespace ddpscope::analysis
