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

// Adds the groups of one process, and the waits that did not succeed.
class StuckWork::Reader : public DeviceEvents {
 public:
  Reader(StuckWork& work, std::uint32_t process, std::uint32_t& next_wait)
      : work_(work),
        process_(process),
        first_stream_(static_cast<std::uint32_t>(work.streams_.size())),
        next_wait_(next_wait) {}

  void enqueued(std::uint32_t call, StreamNumber stream, const ordering::Cover& before) override;
  void waited(const HostCall& wait, const ordering::Cover& cover, bool done) override;

 private:
  // The group that was opened at this moment by this thread.
  std::uint32_t group_of(std::uint32_t call);
  Cover open_part_of(const ordering::Cover& cover) const;

  StuckWork& work_;
  std::uint32_t process_;
  std::uint32_t first_stream_;
  std::uint32_t& next_wait_;                        // in DeviceOrder::waits
  std::vector<std::vector<std::uint32_t>> opened_;  // by stream and place of a call: its groups up to there
  std::int64_t moment_ns_ = 0;
  std::map<std::uint16_t, std::uint32_t> at_moment_;  // by thread: its group
};

std::uint32_t StuckWork::Reader::group_of(std::uint32_t call) {
  std::int64_t ns = work_.collectives_->calls.enqueue_ns(call);
  if (ns != moment_ns_) at_moment_.clear();
  moment_ns_ = ns;
  auto [found, fresh] = at_moment_.emplace(work_.collectives_->calls.form(call).thread,
                                           static_cast<std::uint32_t>(work_.groups_.size()));
  if (fresh) work_.groups_.emplace_back();
  return found->second;
}

StuckWork::Cover StuckWork::Reader::open_part_of(const ordering::Cover& cover) const {
  Cover open;
  for (StreamNumber s = 0; s < cover.size() && s < opened_.size(); ++s)
    if (cover[s] > 0 && opened_[s][cover[s] - 1] > 0)
      open.emplace_back(first_stream_ + s, opened_[s][cover[s] - 1]);
  return open;
}

void StuckWork::Reader::enqueued(std::uint32_t call, StreamNumber stream, const ordering::Cover& before) {
  if (opened_.size() <= stream) {
    opened_.resize(stream + 1);
    work_.streams_.resize(first_stream_ + stream + 1);
  }
  std::vector<std::uint32_t>& groups = work_.streams_[first_stream_ + stream].groups;
  if (work_.device_order_->completions[call].wait == kNone) {
    std::uint32_t number = group_of(call);
    Group& group = work_.groups_[number];
    group.calls.push_back(call);
    work_.group_of_[call] = number;
    if (!std::count(group.streams.begin(), group.streams.end(), first_stream_ + stream)) {
      groups.push_back(number);
      group.streams.push_back(first_stream_ + stream);
      Cover after = open_part_of(before);
      group.after.insert(group.after.end(), after.begin(), after.end());
    }
  }
  opened_[stream].push_back(static_cast<std::uint32_t>(groups.size()));
}

// In the order of DeviceOrder::waits, which leaves out those that bring no news.
void StuckWork::Reader::waited(const HostCall& wait, const ordering::Cover& cover, bool) {
  const std::vector<HostWait>& waits = work_.device_order_->waits;
  if (next_wait_ == waits.size() || waits[next_wait_].event.process != process_ ||
      waits[next_wait_].event.place != wait.place)
    return;
  if (waits[next_wait_].end_ns == kNever) work_.waits_[next_wait_].cover = open_part_of(cover);
  ++next_wait_;
}

StuckWork::StuckWork(const model::Job& job, const matching::Collectives& collectives,
                     const DeviceOrder& device_order)
    : collectives_(&collectives), device_order_(&device_order) {
  const auto& communicators = collectives.communicators;
  auto any_awaited = [&](matching::Numbers Member::*calls) {
    return std::any_of(communicators.begin(), communicators.end(),
                       [&](const Communicator& one) { return awaited_in_vain(device_order, one, calls); });
  };
  bool messages = any_awaited(&Member::point_to_point);
  if (!messages && (communicators.size() < 2 || !any_awaited(&Member::calls))) return;
  group_of_.assign(collectives.calls.size(), kNone);
  pair_messages();
  std::uint32_t wait = 0;
  for (std::uint32_t process = 0; process + 1 < collectives.first_of_process.size(); ++process) {
    if (collectives.first_of_process[process] == collectives.first_of_process[process + 1]) continue;
    while (wait < device_order.waits.size() && device_order.waits[wait].event.process < process) ++wait;
    Reader reader(*this, process, wait);
    replay_device(job, collectives, process, reader);
  }
  link();
  run(Unknown::kMissing);
  note_waits(&Wait::perhaps_stuck);
  run(Unknown::kCame);
  note_waits(&Wait::stuck);
  if (!messages) return;
  for (std::uint32_t call = 0; call < group_of_.size(); ++call)
    if (group_of_[call] != kNone && is_message(collectives.calls.form(call)) && has_turn(call) &&
        !call_can_complete(call))
      messages_.push_back(call);
}

void StuckWork::pair_messages() {
  for (const Communicator& communicator : collectives_->communicators)
    for (const auto& [send, receive] : ordering::pair_messages(*collectives_, communicator)) {
      answers_[send] = receive;
      answers_[receive] = send;
    }
}

// Groups of a thread at one moment, in several streams, do not wait for each other.
void StuckWork::link() {
  for (std::uint32_t s = 0; s < streams_.size(); ++s)
    for (std::uint32_t place = 0; place < streams_[s].groups.size(); ++place)
      streams_[s].awaited_by.emplace_back(place, streams_[s].groups[place]);
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    std::erase_if(group.after, [&](const auto& after) {
      return std::count(group.streams.begin(), group.streams.end(), after.first) > 0;
    });
    for (const auto& [stream, upto] : group.after) streams_[stream].awaited_by.emplace_back(upto, g);
  }
  for (Stream& stream : streams_) std::sort(stream.awaited_by.begin(), stream.awaited_by.end());
}

void StuckWork::run(Unknown unknown) {
  unknown_ = unknown;
  meetings_.clear();
  for (Group& group : groups_) {
    group.unmet = static_cast<std::uint32_t>(group.streams.size() + group.after.size());
    group.complete = false;
  }
  for (Stream& stream : streams_) stream.front = stream.told = 0;
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) advance(stream);
  while (!ready_.empty()) {
    Group& group = groups_[ready_.back()];
    ready_.pop_back();
    if (group.complete || !can_complete(group)) continue;
    group.complete = true;
    for (std::uint32_t stream : group.streams) {
      ++streams_[stream].front;
      advance(stream);
    }
  }
}

void StuckWork::note_waits(bool Wait::*stuck) {
  for (auto& [number, wait] : waits_)
    wait.*stuck = std::any_of(wait.cover.begin(), wait.cover.end(),
                              [&](const auto& part) { return streams_[part.first].front < part.second; });
}

// Tells those that waited for the stream to come as far as it is now.
void StuckWork::advance(std::uint32_t number) {
  for (Stream& stream = streams_[number];
       stream.told < stream.awaited_by.size() && stream.awaited_by[stream.told].first <= stream.front;) {
    std::uint32_t group = stream.awaited_by[stream.told++].second;
    if (--groups_[group].unmet == 0) come(group);
  }
}

// Its turn has come; so those may be complete that waited for it.
void StuckWork::come(std::uint32_t number) {
  auto make_ready = [&](std::uint32_t call) {
    if (group_of_[call] != kNone && has_turn(call)) ready_.push_back(group_of_[call]);
  };
  ready_.push_back(number);
  for (std::uint32_t call : groups_[number].calls) {
    const CallForm& form = collectives_->calls.form(call);
    if (is_message(form)) {
      if (auto found = answers_.find(call); found != answers_.end()) make_ready(found->second);
      continue;
    }
    if (collectives_->member_of(form).incomplete) continue;
    Meeting& meeting = meeting_of(call);
    if (meeting.first == kNone) meeting.first = call;
    if (form.signature != collectives_->calls.signature(meeting.first)) meeting.mismatched = true;
    if (++meeting.there != meeting.expected) continue;
    std::size_t ordinal = collectives_->ordinal_of(call);
    for (const Member& member : collectives_->communicators[form.communicator].members)
      if (ordinal < member.calls.size()) make_ready(member.calls[ordinal]);
  }
}

// What one member knows to be complete is complete.
StuckWork::Meeting& StuckWork::meeting_of(std::uint32_t call) {
  const CallForm& form = collectives_->calls.form(call);
  auto ordinal = static_cast<std::uint32_t>(collectives_->ordinal_of(call));
  auto [found, fresh] = meetings_.try_emplace({form.communicator, ordinal});
  Meeting& meeting = found->second;
  if (!fresh) return meeting;
  const Communicator& communicator = collectives_->communicators[form.communicator];
  if (unknown_ == Unknown::kMissing)
    meeting.expected = static_cast<std::uint32_t>(communicator.without_trace());
  for (const Member& member : communicator.members) {
    meeting.expected += !member.incomplete || unknown_ == Unknown::kMissing;
    meeting.complete = meeting.complete || (!member.incomplete && ordinal < member.calls.size() &&
                                            device_order_->completions[member.calls[ordinal]].wait != kNone);
  }
  return meeting;
}

bool StuckWork::can_complete(const Group& group) {
  return std::all_of(group.calls.begin(), group.calls.end(),
                     [&](std::uint32_t call) { return call_can_complete(call); });
}

// Its own turn has come. Which call of the others it pairs with is not known if some of its member's are
// lost.
bool StuckWork::call_can_complete(std::uint32_t call) {
  const CallForm& form = collectives_->calls.form(call);
  const Member& own = collectives_->member_of(form);
  if (!is_message(form)) {
    if (own.incomplete) return unknown_ == Unknown::kCame;
    const Meeting& meeting = meeting_of(call);
    return meeting.complete || (!meeting.mismatched && meeting.there >= meeting.expected);
  }
  if (auto found = answers_.find(call); found != answers_.end())
    return group_of_[found->second] == kNone || has_turn(found->second);
  const auto& members = collectives_->communicators[form.communicator].members;
  auto peer = std::find_if(members.begin(), members.end(),
                           [&](const Member& member) { return member.rank_in_communicator == form.peer; });
  bool known = peer != members.end() && !peer->incomplete && !own.incomplete;
  return !known && unknown_ == Unknown::kCame;
}

std::uint32_t StuckWork::answer(std::uint32_t message) const {
  auto found = answers_.find(message);
  return found == answers_.end() ? kNone : found->second;
}

std::vector<std::uint32_t> StuckWork::ahead_of(std::uint32_t call) const {
  std::vector<std::uint32_t> ahead;
  if (group_of_.empty() || group_of_[call] == kNone || has_turn(call)) return ahead;
  const Group& group = groups_[group_of_[call]];
  auto add_front = [&](const Stream& stream) {
    const Group& front = groups_[stream.groups[stream.front]];
    ahead.insert(ahead.end(), front.calls.begin(), front.calls.end());
  };
  for (std::uint32_t stream : group.streams)
    if (streams_[stream].groups[streams_[stream].front] != group_of_[call]) add_front(streams_[stream]);
  for (const auto& [stream, upto] : group.after)
    if (streams_[stream].front < upto) add_front(streams_[stream]);
  return ahead;
}

bool StuckWork::can_complete(std::uint32_t call) const {
  return group_of_.empty() || group_of_[call] == kNone || groups_[group_of_[call]].complete;
}

bool StuckWork::covers_stuck(std::uint32_t wait, Unknown unknown) const {
  auto found = waits_.find(wait);
  if (found == waits_.end()) return false;
  return unknown == Unknown::kCame ? found->second.stuck : found->second.perhaps_stuck;
}

}  // namespace ddpscope::ordering
