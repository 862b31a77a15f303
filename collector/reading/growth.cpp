// An id that is made for a communicator is for its next child: the process that made both tells which.
#include "collector/reading/growth.h"

#include <map>

#include "collector/model/time_order.h"

namespace ddpscope::reading {
namespace {

using model::Process;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

using Identities = std::map<std::uint64_t, std::uint64_t>;  // of a child, by the hash of the unique id

bool is(const Record& record, trace::Call call) { return record.call == static_cast<std::uint16_t>(call); }

bool grew(const Process& process) {
  for (const model::Membership& member : process.memberships)
    if (is(process.record(member.place), trace::Call::ncclCommGrow)) return true;
  return false;
}

// An id that nobody grew by, or by a call that came to another child, is none of a communicator.
void find_children(const Process& process, Identities& children) {
  std::map<std::uint32_t, std::uint64_t> made;  // by the communicator's number: the id for its next child
  constexpr trace::OperationSet kMakings{Operation::kCommunicatorOther, Operation::kCommunicatorSplit};
  model::for_each_in_time(process.file, kMakings, [&](model::EventPlace, const Record& record) {
    if (is(record, trace::Call::ncclCommGetUniqueId)) {
      auto call = trace::payload_of<payload::CommunicatorCall>(record);
      if (record.end && call.result == 0) made[call.communicator] = call.argument;
    } else if (trace::operation_of(record.call) == Operation::kCommunicatorSplit) {
      auto child = trace::payload_of<payload::Communicator>(record);
      auto found = made.find(child.parent);
      if (found == made.end()) return;
      if (is(record, trace::Call::ncclCommGrow)) children[found->second] = child.id;
      made.erase(found);
    }
  });
}

}  // namespace

void unite_grown(std::vector<Process>& processes) {
  Identities children;
  for (const Process& process : processes)
    if (grew(process)) find_children(process, children);
  for (Process& process : processes)
    for (model::Membership& member : process.memberships)
      if (auto child = children.find(member.id); child != children.end()) member.id = child->second;
}

}  // namespace ddpscope::reading
