// What commands say of a merged file: no analysis, all of it is stored.
#pragma once
#include <string>

#include "collector/commands/command.h"
#include "collector/findings/finding.h"
#include "collector/merged/reader.h"
#include "collector/reports/report.h"

namespace ddpscope::commands {

// Nothing if the options ask for what a merged file cannot tell.
std::optional<Error> check_merged(const TraceOptions& options);

reports::JobFacts facts_of(const merged::Reader& file);
// What `info` says of the trace, then what the file holds.
Outcome print_merged_info(const merged::Reader& file);
// The lines of the trace's own dump, track after track, and steps.
Outcome dump_merged(const merged::Reader& file);

}  // namespace ddpscope::commands
