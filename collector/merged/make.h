// Makes the merged file of a trace: analyses it and writes rows, events, findings.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collector/merged/reader.h"
#include "collector/reading/progress.h"
#include "trace/result.h"
#include "trace/write/identity.h"

namespace ddpscope::merged {

struct Made {
  std::filesystem::path file;
  std::vector<Error> errors;    // trace files that could not be read, or only in part
  std::vector<Error> warnings;  // those that are left out and not missed; a cache that is not used
  bool from_cache = false;
};

// Says, too, whose error it is: where the output cannot be written, or its disk is full, another place may
// do.
struct Written : Result<Made> {
  using Result::Result;
  bool output_failed = false;
};

// Takes what there is of a file that is being made: first all rows, then ever more ranks with their events,
// findings when they are found; collectives come last, with the file itself. Called by one thread after
// another, which it keeps from writing for an eighth of the time at most.
using TakePreview = std::function<void(Reader)>;

// Analyses TRACE and writes its merged file to `output`, by way of a temporary file beside it: there is a
// whole one or none. Byte-identical for the same trace files and version. `here`: as analysis::analyze.
// Errors: as analysis::analyze; the output cannot be written; the disk is full.
Written write_merged(const std::filesystem::path& trace, const std::filesystem::path& output,
                     reading::Progress& progress, const trace::Identity* here = nullptr,
                     std::int32_t attempt = -1, const TakePreview& take = {});

// The merged file of what `trace` names: itself if it is one; else from the cache, if this build made it of
// the trace's files as they still are; else it is made. The cache is TRACE/.ddpscope-cache or, if that cannot
// be written, is a link or its disk is full, XDG_CACHE_HOME/ddpscope (~/.cache/ddpscope). Of a job that still
// runs the files change: every call merges them again.
Result<Made> merged_file_of(const std::filesystem::path& trace, reading::Progress& progress,
                            const trace::Identity* here = nullptr, std::int32_t attempt = -1,
                            const TakePreview& take = {});

}  // namespace ddpscope::merged
