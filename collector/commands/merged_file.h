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
Outcome print_merged_info(const merged::Reader& file);
// Every event with its details, track after track.
Outcome dump_merged(const merged::Reader& file);

}  // namespace ddpscope::commands
