// Findings for people and for programs.
#pragma once
#include <string>

#include "collector/findings/finding.h"
#include "collector/model/job.h"

namespace ddpscope::reports {

// Worst first, for a terminal; everything that comes from the trace is escaped.
std::string size_text(const model::Job& job);  // "2 ranks, 3 processes"
// "first failure: rank 1 (node1:1218) exited with 1 at train.py:88 main, at 0.340 s; the others: ..."
std::string first_failure_text(const findings::FirstFailure& failure);
std::string text_report(const model::Job& job, const findings::Outcome& outcome);

// The contract: one JSON object, schema 1. `version` is that of ddpscope.
std::string json_report(const model::Job& job, const findings::Outcome& outcome, const std::string& version);
// One of its findings alone, in one line.
std::string json_finding(const findings::Finding& finding);

}  // namespace ddpscope::reports
