// The unique id is replaced by the id that the old communicator's ranks have.
#include "collector/reading/grown_communicators.h"

#include <map>

#include "collector/model/time_order.h"

namespace ddpscope::reading {
namespace {

using trace::Call;
using trace::Operation;
using trace::Record;

using Ids = std::map<std::uint64_t, std::uint64_t>;

void collect(const trace::TraceFile& file, Ids& grown_of) {
  std::map<std::uint32_t, std::uint64_t> unique_id_of;  // by the old communicator's number
  constexpr trace::OperationSet kWanted{Operation::kCommunicatorOther, Operation::kCommunicatorSplit};
  model::for_each_in_time(file, kWanted, [&](model::EventPlace, const Record& record) {
    auto call = static_cast<Call>(record.call);
    if (call == Call::ncclCommGetUniqueId) {
      auto made = trace::payload_of<trace::payload::CommunicatorCall>(record);
      if (made.result == 0) unique_id_of[made.communicator] = made.argument;
    } else if (call == Call::ncclCommGrow) {
      auto grown = trace::payload_of<trace::payload::Communicator>(record);
      if (auto known = unique_id_of.extract(grown.parent)) grown_of[known.mapped()] = grown.id;
    }
  });
}

}  // namespace

void unite_grown(std::vector<model::Process>& processes) {
  Ids grown_of;
  for (const model::Process& process : processes) collect(process.file, grown_of);
  if (grown_of.empty()) return;
  for (model::Process& process : processes)
    for (model::Membership& membership : process.memberships)
      if (auto grown = grown_of.find(membership.id); grown != grown_of.end() && membership.parent == 0)
        membership.id = grown->second;
}

}  // namespace ddpscope::reading
