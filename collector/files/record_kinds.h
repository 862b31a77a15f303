// What records say of files.
#pragma once
#include <algorithm>

#include "collector/files/shared_names.h"
#include "trace/calls.h"

namespace ddpscope::files {

inline bool changes_name(trace::Operation operation) {
  return operation >= trace::Operation::kRename && operation <= trace::Operation::kRemoveDirectory;
}

inline bool looks_up(trace::Operation operation) {
  return operation == trace::Operation::kStat || operation == trace::Operation::kAccess;
}

// Of a file, as its name tells; a truncation may be told by its opening.
inline bool changes_state(trace::Operation operation) {
  return operation == trace::Operation::kTruncate || operation == trace::Operation::kSetTimes;
}

constexpr trace::OperationSet kNameFiles =
    trace::OperationSet::range(trace::Operation::kRename, trace::Operation::kReadDirectory) |
    trace::OperationSet{trace::Operation::kOpen, trace::Operation::kTruncate, trace::Operation::kSetTimes,
                        trace::Operation::kLock};
constexpr trace::OperationSet kUseFiles =
    kNameFiles | trace::OperationSet::range(trace::Operation::kOpen, trace::Operation::kReadDirectory) |
    trace::OperationSet{trace::Operation::kListing};

// Of what ranks list, they rely on the entries that others make.
inline bool tells_listings(const model::Job& job) {
  return std::ranges::any_of(job.processes, [](const model::Process& process) {
    return process.rank >= 0 && process.file.count({trace::Operation::kListing}) > 0;
  });
}

inline bool makes_symbolic_link(const trace::Record& record) {
  auto call = static_cast<trace::Call>(record.call);
  return call == trace::Call::symlink || call == trace::Call::symlinkat;
}

inline bool moves_bytes(trace::Operation operation) {
  return operation == trace::Operation::kRead || operation == trace::Operation::kWrite ||
         operation == trace::Operation::kTruncate || operation == trace::Operation::kMap ||
         operation == trace::Operation::kClose;
}

}  // namespace ddpscope::files
