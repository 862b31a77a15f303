// What a run of a job is like, small enough to be committed: what a step issues, how long things take, what
// was found. `export --format summary` writes it, `diff` compares several, `report --baseline` takes its
// findings.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/findings/finding.h"
#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/patterns/collective_times.h"
#include "trace/result.h"

namespace ddpscope::summary {

struct FoundRow {
  std::string id, slug, severity, title;
};

// A kind of collective, as ranks issue it in their median step. No noise is in it: how often one is issued
// does not depend on how busy a machine is. Ranks that issue it as often share a row.
struct IssuedRow {
  std::string call;  // "all-reduce of 16384 float32 (avg) among 4 ranks"
  std::uint64_t per_step;
  std::uint64_t bytes;              // of one
  std::vector<std::int32_t> ranks;  // ascending
};

struct DurationRow {
  std::string what;  // "step", "transfer: all-reduce of 16384 float32 (avg) among 4 ranks"
  std::uint64_t count;
  double p50_ms, p95_ms;
};

struct Summary {
  std::string version;
  std::uint64_t ranks = 0;
  std::vector<std::int32_t> ranks_with_steps;  // of which some are known, ascending
  std::uint64_t steps = 0;                     // of the lowest of these
  std::vector<FoundRow> findings;
  std::vector<std::string> unjudged;   // slugs, entirely
  std::vector<IssuedRow> issued;       // by name
  std::vector<DurationRow> durations;  // of the lowest rank with steps
};

// `collectives`: of NCCL; of a job that calls nothing there, those on process groups (analysis::Matched).
// Steps end with the optimizer (docs/steps.md); the first one, in which buffers are made, counts for nothing.
// Transfers are those of collectives that devices' times split (CollectiveTimes).
Summary summarise(const model::Job& job, const matching::Collectives& collectives,
                  const patterns::CollectiveTimes& times, const findings::Outcome& outcome);

std::string to_json(const Summary& summary);
// Also a report in JSON, which has findings alone.
Result<Summary> parse(std::string_view json);

}  // namespace ddpscope::summary
