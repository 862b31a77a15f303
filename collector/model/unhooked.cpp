// One pass over the few records of these kinds.
#include "collector/model/unhooked.h"

#include <algorithm>
#include <map>

namespace ddpscope::model {
namespace {

using trace::Operation;
namespace payload = trace::payload;

constexpr std::uint8_t kUnknownType = 255, kNvtx = 1, kProfiler = 2;

}  // namespace

std::vector<UnhookedCommunicator> unhooked_communicators(const Process& process) {
  std::map<std::uint32_t, UnhookedCommunicator> found;
  for_each(process.file, {Operation::kUnhookedCommunicator}, [&](EventPlace, const trace::Record& record) {
    auto told = trace::payload_of<payload::UnhookedCommunicator>(record);
    UnhookedCommunicator& known = found[told.communicator];
    known.id = told.id;
    if (told.size > known.size) known.size = told.size;
    if (told.rank > known.rank) known.rank = told.rank;
    if (told.name) known.name = process.file.string(told.name);
    known.told_by |= told.told_by;
  });
  for_each(process.file, {Operation::kUnhookedCollective}, [&](EventPlace, const trace::Record& record) {
    auto told = trace::payload_of<payload::UnhookedCollective>(record);
    UnhookedCommunicator& known = found[told.communicator];
    ++known.operations;
    known.told_by |= told.told_by;
    known.without_type += told.datatype == kUnknownType;
  });
  std::vector<UnhookedCommunicator> all;
  for (auto& [number, known] : found) {
    known.number = number;
    all.push_back(known);
  }
  return all;
}

const char* teller_text(std::uint8_t told_by) {
  if ((told_by & kNvtx) && (told_by & kProfiler)) return "by its NVTX ranges and its profiler interface";
  return told_by & kProfiler ? "by its profiler interface" : "by its NVTX ranges";
}

std::vector<CollectiveChoice> collective_choices(const Process& process) {
  std::vector<CollectiveChoice> all;
  for_each(process.file, {Operation::kCollectiveChoice}, [&](EventPlace, const trace::Record& record) {
    auto told = trace::payload_of<payload::CollectiveChoice>(record);
    CollectiveChoice choice{told.communicator,
                            told.function,
                            told.datatype,
                            told.count,
                            process.file.string(told.algorithm),
                            process.file.string(told.protocol),
                            told.channels};
    if (std::find(all.begin(), all.end(), choice) == all.end()) all.push_back(choice);
  });
  return all;
}

}  // namespace ddpscope::model
