// Findings for people and for programs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collector/findings/finding.h"
#include "collector/model/job.h"

namespace ddpscope::reports {

// What reports say of the job itself, be it read from a trace or from a merged file.
struct JobFacts {
  std::size_t ranks = 0, processes = 0;
  std::vector<std::string> hosts;
  std::int32_t attempt = 0;
  std::uint64_t start_unix_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint64_t events = 0, dropped = 0;
  std::int64_t clock_error_ns = 0;  // as in model::Job
  std::string gpu_timing;
  std::vector<std::int32_t> numbered_by_start;  // ranks whose numbers are a guess
};
JobFacts facts_of(const model::Job& job);

// Worst first, for a terminal; everything that comes from the trace is escaped.
std::string size_text(const JobFacts& job);       // "2 ranks, 3 processes"
std::string world_text(std::int32_t world_size);  // "world size 2"; 0: nothing tells one
// "first failure: rank 1 (node1:1218) exited with 1 at train.py:88 main, at 0.340 s; the others: ..."
std::string first_failure_text(const findings::FirstFailure& failure);
// "the job failed, and no finding explains it", and how, where no first failure says so. Empty: one does, or
// it did not fail, or not all findings were looked for.
std::string unexplained_failure_text(const findings::Outcome& outcome);
std::string order_text(const findings::Order& order);
std::string finding_text(const JobFacts& job, const findings::Finding& finding);  // one, and an empty line
std::string text_report(const JobFacts& job, const findings::Outcome& outcome);

// The contract: one JSON object, schema 1. `version` is that of ddpscope.
std::string json_report(const JobFacts& job, const findings::Outcome& outcome, const std::string& version);
// One of its findings alone, in one line.
std::string json_finding(const findings::Finding& finding);

}  // namespace ddpscope::reports
