// Moments are compared, so errors of clocks count, other than in collective_times.h.
#include "collector/patterns/rooted_collectives.h"

#include <algorithm>
#include <limits>

#include "collector/model/device_work.h"
#include "collector/patterns/inputs.h"
#include "collector/patterns/known_launches.h"

namespace ddpscope::patterns {
namespace {

using matching::Member;
using trace::Operation;

constexpr std::int64_t kLeastOverError = 10;  // a wait over the error of the clocks that show it
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

bool hands_out(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kScatter;
}

bool any_rooted(const matching::Collectives& collectives, const Member& member) {
  for (std::uint32_t call : member.calls)
    if (is_rooted(collectives.calls.signature(call).operation)) return true;
  return false;
}

}  // namespace

bool is_rooted(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kGather || hands_out(operation);
}

RootedCollectives::RootedCollectives(const model::Job& job, const matching::Collectives& collectives,
                                     const CollectiveTimes& times, std::uint32_t communicator,
                                     const std::vector<Turn>& turns)
    : job_(job),
      collectives_(collectives),
      times_(times),
      members_(collectives.communicators[communicator].members) {
  if (!any_rooted(collectives, members_.front())) return;
  std::int64_t devices_ns = 0, clocks_ns = 0;
  for (const Member& member : members_) {
    devices_ns = std::max(devices_ns, model::device_clock_error_ns(job, member.process));
    clocks_ns = std::max(clocks_ns, job.clock_error_between(members_.front().process, member.process));
    have_inputs_ = have_inputs_ && copies_inputs(member, turns);
  }
  error_ns_ = 2 * (devices_ns + clocks_ns);
}

// In three turns of four that are known.
bool RootedCollectives::copies_inputs(const Member& member, const std::vector<Turn>& turns) const {
  std::int64_t known_from_ns = launches_known_from(job_, member.process);
  std::vector<std::int64_t> ends_ns;  // of turns
  for (const Turn& turn : turns)
    if (turn.end <= member.calls.size()) ends_ns.push_back(collectives_.begin_ns_at(member, turn.end - 1));
  auto next = std::upper_bound(ends_ns.begin(), ends_ns.end(), known_from_ns);
  auto known = ends_ns.end() - next;
  std::ptrdiff_t with_input = 0;
  model::for_each_in_time(job_.processes[member.process].file, {Operation::kCopy},
                          [&](model::EventPlace, const trace::Record& record) {
                            if (!is_input(trace::payload_of<trace::payload::Copy>(record))) return;
                            auto turn =
                                std::lower_bound(next, ends_ns.end(), job_.begin_ns(member.process, record));
                            if (turn == ends_ns.end()) return;
                            ++with_input;
                            next = turn + 1;
                          });
  return with_input * 4 >= known * 3;
}

bool RootedCollectives::may_hand_out_inputs(std::size_t ordinal) const {
  return !have_inputs_ && hands_out(collectives_.signature_at(members_.front(), ordinal).operation);
}

std::optional<std::uint32_t> RootedCollectives::first_for_all(const Turn& turn) const {
  for (std::uint32_t k = turn.first; k < turn.end; ++k) {
    if (!is_alike(k)) return std::nullopt;
    if (needs_all_members(collectives_.signature_at(members_.front(), k).operation)) return k;
    if (may_hand_out_inputs(k)) return std::nullopt;
  }
  return std::nullopt;
}

bool RootedCollectives::is_alike(std::size_t ordinal) const {
  return std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
    return ordinal < member.calls.size() &&
           collectives_.signature_at(member, ordinal) == collectives_.signature_at(members_.front(), ordinal);
  });
}

bool RootedCollectives::is_comparable(std::size_t ordinal) const {
  return is_alike(ordinal) && is_rooted(collectives_.signature_at(members_.front(), ordinal).operation) &&
         std::all_of(members_.begin(), members_.end(),
                     [&](const Member& member) { return time_of(member, ordinal); });
}

std::optional<std::int64_t> RootedCollectives::held_all_until_ns(std::size_t ordinal) const {
  if (!is_comparable(ordinal)) return std::nullopt;
  const matching::Signature& signature = collectives_.signature_at(members_.front(), ordinal);
  std::int64_t first_ns = kMost, left_ns = kMost, over_ns = -kMost;
  std::int64_t root_came_ns = -kMost, others_came_ns = -kMost;  // the last of them
  for (const Member& member : members_) {
    const DeviceTime& time = *time_of(member, ordinal);
    std::int64_t& came_ns = member.rank_in_communicator == signature.root ? root_came_ns : others_came_ns;
    came_ns = std::max(came_ns, time.begin_ns);
    first_ns = std::min(first_ns, time.begin_ns);
    left_ns = std::min(left_ns, time.end_ns);
    over_ns = std::max(over_ns, time.end_ns);
  }
  std::int64_t last_ns = std::max(root_came_ns, others_came_ns);
  if (left_ns < last_ns || last_ns - first_ns < kLeastOverError * error_ns_) return std::nullopt;
  bool for_root = root_came_ns > others_came_ns || root_came_ns == -kMost;  // that may be any of them
  if (for_root && may_hand_out_inputs(ordinal)) return std::nullopt;
  return over_ns;
}

std::int64_t RootedCollectives::excess_ns(std::uint32_t member, std::size_t ordinal) const {
  if (!is_comparable(ordinal)) return 0;
  std::int64_t shortest_ns = kMost;
  for (const Member& other : members_)
    shortest_ns = std::min(shortest_ns, time_of(other, ordinal)->length_ns());
  return time_of(members_[member], ordinal)->length_ns() - shortest_ns;
}

}  // namespace ddpscope::patterns
