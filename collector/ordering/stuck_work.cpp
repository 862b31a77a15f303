// Lets all calls whose turn has come complete with their counterparts, until nothing moves.
#include "collector/ordering/stuck_work.h"

#include <algorithm>
#include <tuple>

#include "collector/ordering/messages.h"

namespace ddpscope::ordering {
namespace {

using matching::CallForm;
using matching::Communicator;
using matching::kNone;
using matching::Member;

bool is_message(const CallForm& call) {
  return call.signature.operation == trace::Operation::kSend ||
         call.signature.operation == trace::Operation::kReceive;
}

bool awaited_in_vain(const DeviceOrder& order, const Communicator& communicator,
                     matching::Numbers Member::*calls) {
  return std::any_of(communicator.members.begin(), communicator.members.end(), [&](const Member& member) {
    for (std::size_t k = (member.*calls).size(); k-- > 0;) {
      const Completion& completion = order.completions[(member.*calls)[k]];
      if (completion.wait != kNone) return false;
      if (completion.blocked != kNone) return true;
    }
    return false;
  });
}

}  // namespace

StuckWork::StuckWork(const matching::Collectives& collectives, const DeviceOrder& device_order)
    : collectives_(&collectives), device_order_(&device_order) {
  const auto& communicators = collectives.communicators;
  auto awaited = [&](matching::Numbers Member::*calls) {
    return std::count_if(communicators.begin(), communicators.end(),
                         [&](const Communicator& one) { return awaited_in_vain(device_order, one, calls); });
  };
  bool messages = awaited(&Member::point_to_point) > 0;
  if (!messages && awaited(&Member::calls) < 2) return;
  pair_messages();
  for (std::uint32_t process = 0; process + 1 < collectives.first_of_process.size(); ++process)
    add_process(process);
  run();
  if (!messages) return;
  for (const auto& [call, group] : group_of_)
    if (is_message(collectives.calls.form(call)) && has_turn(groups_[group]) && !call_can_complete(call))
      messages_.push_back(call);
}

void StuckWork::pair_messages() {
  for (const Communicator& communicator : collectives_->communicators)
    for (const auto& [send, receive] : ordering::pair_messages(*collectives_, communicator)) {
      answers_[send] = receive;
      answers_[receive] = send;
    }
}

void StuckWork::add_process(std::uint32_t process) {
  const matching::CallTable& calls = collectives_->calls;
  std::vector<std::uint32_t> open;
  for (std::uint32_t call = collectives_->first_of_process[process];
       call < collectives_->first_of_process[process + 1]; ++call)
    if (device_order_->completions[call].wait == kNone) open.push_back(call);
  auto moment = [&](std::uint32_t call) {
    return std::pair(calls.enqueue_ns(call), calls.form(call).thread);
  };
  std::stable_sort(open.begin(), open.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return moment(a) < moment(b); });
  for (auto from = open.begin(); from != open.end();) {
    auto to =
        std::find_if(from, open.end(), [&](std::uint32_t call) { return moment(call) != moment(*from); });
    add_group({from, to});
    from = to;
  }
}

void StuckWork::add_group(const std::vector<std::uint32_t>& calls) {
  auto number = static_cast<std::uint32_t>(groups_.size());
  Group& group = groups_.emplace_back();
  group.calls = calls;
  for (std::uint32_t call : calls) {
    const CallForm& form = collectives_->calls.form(call);
    StreamKey key{collectives_->member_of(form).process, {form.device, form.stream}};
    auto [found, fresh] = stream_of_.emplace(key, static_cast<std::uint32_t>(streams_.size()));
    if (fresh) streams_.emplace_back();
    group_of_[call] = number;
    if (std::count(group.streams.begin(), group.streams.end(), found->second)) continue;
    group.streams.push_back(found->second);
    streams_[found->second].groups.push_back(number);
  }
}

void StuckWork::run() {
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) give_turn(stream);
  for (bool moved = true; moved;) {
    moved = false;
    for (Stream& stream : streams_) {
      if (stream.front == stream.groups.size()) continue;
      Group& group = groups_[stream.groups[stream.front]];
      if (!has_turn(group) || !can_complete(group)) continue;
      group.complete = moved = true;
      for (std::uint32_t each : group.streams) {
        ++streams_[each].front;
        give_turn(each);
      }
    }
  }
}

void StuckWork::give_turn(std::uint32_t stream) {
  if (streams_[stream].front == streams_[stream].groups.size()) return;
  Group& group = groups_[streams_[stream].groups[streams_[stream].front]];
  ++group.turns;
  if (!has_turn(group)) return;
  for (std::uint32_t call : group.calls)
    if (!is_message(collectives_->calls.form(call))) ++meeting_of(call).there;
}

// What one member knows to be complete is complete. Of members whose calls are not known, nothing is missing.
StuckWork::Meeting& StuckWork::meeting_of(std::uint32_t call) {
  const CallForm& form = collectives_->calls.form(call);
  auto ordinal = static_cast<std::uint32_t>(collectives_->ordinal_of(call));
  auto [found, fresh] = meetings_.try_emplace({form.communicator, ordinal});
  Meeting& meeting = found->second;
  if (!fresh) return meeting;
  for (const Member& member : collectives_->communicators[form.communicator].members) {
    if (member.incomplete) continue;
    ++meeting.expected;
    meeting.complete = meeting.complete || (ordinal < member.calls.size() &&
                                            device_order_->completions[member.calls[ordinal]].wait != kNone);
  }
  return meeting;
}

bool StuckWork::can_complete(const Group& group) {
  return std::all_of(group.calls.begin(), group.calls.end(),
                     [&](std::uint32_t call) { return call_can_complete(call); });
}

// Its own turn has come.
bool StuckWork::call_can_complete(std::uint32_t call) {
  const CallForm& form = collectives_->calls.form(call);
  if (!is_message(form)) {
    const Meeting& meeting = meeting_of(call);
    return meeting.complete || meeting.there >= meeting.expected;
  }
  if (auto found = answers_.find(call); found != answers_.end()) {
    auto group = group_of_.find(found->second);
    return group == group_of_.end() || has_turn(groups_[group->second]);
  }
  const auto& members = collectives_->communicators[form.communicator].members;
  auto peer = std::find_if(members.begin(), members.end(),
                           [&](const Member& member) { return member.rank_in_communicator == form.peer; });
  return peer == members.end() || peer->incomplete || collectives_->member_of(form).incomplete;
}

std::uint32_t StuckWork::answer(std::uint32_t message) const {
  auto found = answers_.find(message);
  return found == answers_.end() ? kNone : found->second;
}

std::vector<std::uint32_t> StuckWork::ahead_of(std::uint32_t call) const {
  std::vector<std::uint32_t> ahead;
  auto found = group_of_.find(call);
  if (found == group_of_.end() || has_turn(groups_[found->second])) return ahead;
  for (std::uint32_t stream : groups_[found->second].streams) {
    const Stream& own = streams_[stream];
    if (own.front == own.groups.size() || own.groups[own.front] == found->second) continue;
    const Group& front = groups_[own.groups[own.front]];
    ahead.insert(ahead.end(), front.calls.begin(), front.calls.end());
  }
  return ahead;
}

bool StuckWork::can_complete(std::uint32_t call) const {
  auto found = group_of_.find(call);
  return found == group_of_.end() || groups_[found->second].complete;
}

}  // namespace ddpscope::ordering
