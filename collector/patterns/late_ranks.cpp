// First when each member came in each turn, then whether some always come last.
#include "collector/patterns/late_ranks.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "collector/model/order_statistics.h"
#include "collector/patterns/foreign_waits.h"
#include "collector/patterns/known_launches.h"

namespace ddpscope::patterns {
namespace {

using matching::kNone;
using matching::Member;
using trace::Operation;
using trace::Record;

constexpr std::size_t kLeastTurns = 50;   // design, section 2
constexpr std::size_t kMostTurns = 4096;  // looked at, spread over the job
constexpr std::int64_t kLeastPart = 100;  // of a turn: one part in so many is no lateness

// Of all members in one turn.
struct Arrivals {
  std::uint32_t ordinal;
  std::int64_t turn_ns;
  std::vector<MemberWindow> windows;
  std::vector<std::int64_t> late_ns;  // beyond the typical member's
};

// Of an even number the lower one: the typical member is none of the last half.
std::int64_t typical_of(std::vector<std::int64_t> values) {
  return model::value_at(values, (values.size() - 1) / 2);
}

// How far each is beyond the typical one.
std::vector<std::int64_t> beyond_typical(std::vector<std::int64_t> values) {
  std::int64_t typical = typical_of(values);
  for (std::int64_t& value : values) value -= typical;
  return values;
}

std::vector<std::int64_t> lesser(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::min(a[i], b[i]);
  return a;
}

class Finder {
 public:
  Finder(const model::Job& job, const matching::Collectives& collectives,
         const ordering::DeviceOrder& device_order, const CollectiveTimes& times, std::uint32_t communicator)
      : job_(job),
        collectives_(collectives),
        device_order_(device_order),
        times_(times),
        index_(communicator),
        members_(collectives.communicators[communicator].members) {}

  LateRanksFound find();

 private:
  bool pairs_up() const;
  bool clocks_agree();
  void look_for_foreign_waits();
  std::optional<std::pair<std::uint32_t, CollectiveSplit>> longest_wait(const Turn& turn) const;
  std::optional<Arrivals> by_devices(std::size_t turn) const;
  std::optional<Arrivals> by_hosts(std::size_t turn) const;
  std::vector<Arrivals> arrivals(bool devices);
  void take_gaps(std::vector<Arrivals>& all) const;
  std::int64_t known_ns(const Member& member, std::uint32_t ordinal) const {
    return device_order_.complete_ns(member.calls[ordinal]);
  }
  std::vector<std::uint32_t> late_members(const std::vector<Arrivals>& all) const;
  std::int64_t least_ns(const Arrivals& turn) const { return std::max(error_ns_, turn.turn_ns / kLeastPart); }
  std::optional<LateRanks> judge(std::vector<Arrivals> all, bool devices) const;
  struct Processors {
    bool known;
    double beyond;   // part of its time that a late member waited for processors beyond a typical one
    double typical;  // that a typical one waited
  };
  double part_without_processor(std::uint32_t member) const;
  Processors processors_of(const std::vector<std::uint32_t>& late) const;

  const model::Job& job_;
  const matching::Collectives& collectives_;
  const ordering::DeviceOrder& device_order_;
  const CollectiveTimes& times_;
  std::uint32_t index_;
  const std::vector<Member>& members_;
  std::int64_t error_ns_ = 0;  // of the clocks of any two members
  std::vector<Turn> turns_;
  std::vector<ForeignWaits> foreign_;  // by member
};

bool Finder::pairs_up() const {
  const matching::Communicator& communicator = collectives_.communicators[index_];
  return members_.size() > 1 && communicator.without_trace() == 0 &&
         std::none_of(members_.begin(), members_.end(), [](const Member& m) { return m.incomplete; });
}

bool Finder::clocks_agree() {
  for (const Member& a : members_)
    for (const Member& b : members_)
      error_ns_ = std::max(error_ns_, job_.clock_error_between(a.process, b.process));
  return error_ns_ < model::kUnaligned;
}

void Finder::look_for_foreign_waits() {
  for (const Member& member : members_)
    foreign_.emplace_back(job_, collectives_, device_order_, times_, index_, member);
}

std::optional<std::pair<std::uint32_t, CollectiveSplit>> Finder::longest_wait(const Turn& turn) const {
  std::optional<std::pair<std::uint32_t, CollectiveSplit>> longest;
  for (std::uint32_t k = turn.first; k < turn.end; ++k) {
    auto split = times_.split(index_, k);
    auto wait_ns = [](const CollectiveSplit& s) { return s.longest_ns - s.transfer_ns; };
    if (split && (!longest || wait_ns(*split) > wait_ns(longest->second))) longest = {k, *split};
  }
  return longest;
}

// Times begin with the collective of the turn before in which most was waited.
std::optional<Arrivals> Finder::by_devices(std::size_t turn) const {
  auto before = longest_wait(turns_[turn - 1]), longest = longest_wait(turns_[turn]);
  if (!before || !longest) return std::nullopt;
  Arrivals found{longest->first, 0, {}, {}};
  std::vector<std::int64_t> values, own_values;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const DeviceTime& from = *times_.of(members_[m].calls[before->first]);
    const DeviceTime& own = *times_.of(members_[m].calls[longest->first]);
    found.windows.push_back({from.end_ns, own.begin_ns});
    values.push_back(-own.length_ns());
    own_values.push_back(values.back() - foreign_[m].within(from.end_ns, own.begin_ns));
    found.turn_ns = std::max(found.turn_ns, own.end_ns - from.end_ns);
  }
  found.late_ns = lesser(beyond_typical(std::move(values)), beyond_typical(std::move(own_values)));
  return found;
}

// All hosts know that the turn before is over when they go on.
std::optional<Arrivals> Finder::by_hosts(std::size_t turn) const {
  std::uint32_t last = turns_[turn - 1].end - 1, first = turns_[turn].first;
  Arrivals found{first, 0, {}, {}};
  std::vector<std::int64_t> values, own_values;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    if (turns_[turn].end > member.calls.size()) return std::nullopt;
    const matching::Signature& signature = collectives_.signature_at(member, first);
    if (!needs_all_members(signature.operation) || signature != collectives_.signature_at(members_[0], first))
      return std::nullopt;
    MemberWindow window{known_ns(member, last), collectives_.begin_ns_at(member, first)};
    if (window.from_ns == ordering::kNever || window.from_ns > window.came_ns) return std::nullopt;
    std::int64_t over_ns = known_ns(member, turns_[turn].end - 1);
    if (over_ns == ordering::kNever) return std::nullopt;
    found.turn_ns = std::max(found.turn_ns, over_ns - window.from_ns);
    values.push_back(window.came_ns);
    own_values.push_back(window.came_ns - foreign_[m].within(window.from_ns, window.came_ns));
    found.windows.push_back(window);
  }
  found.late_ns = lesser(beyond_typical(std::move(values)), beyond_typical(std::move(own_values)));
  return found;
}

// By hosts: how long each took until its first launch, beyond the typical one.
void Finder::take_gaps(std::vector<Arrivals>& all) const {
  std::vector<std::vector<std::int64_t>> gaps(all.size(), std::vector<std::int64_t>(members_.size()));
  for (std::size_t m = 0; m < members_.size(); ++m) {
    std::size_t turn = 0;
    auto answer_until = [&](std::int64_t launch_ns) {
      for (; turn < all.size() && all[turn].windows[m].came_ns <= launch_ns; ++turn)
        if (gaps[turn][m] == 0) gaps[turn][m] = all[turn].windows[m].came_ns - all[turn].windows[m].from_ns;
    };
    model::for_each_in_time(job_.processes[members_[m].process].file,
                            {Operation::kLaunch, Operation::kGraphLaunch},
                            [&](model::EventPlace, const Record& record) {
                              std::int64_t at_ns = job_.begin_ns(members_[m].process, record);
                              answer_until(at_ns);
                              if (turn == all.size() || gaps[turn][m] || at_ns < all[turn].windows[m].from_ns)
                                return;
                              gaps[turn][m] = std::max<std::int64_t>(at_ns - all[turn].windows[m].from_ns, 1);
                            });
    answer_until(std::numeric_limits<std::int64_t>::max());
  }
  for (std::size_t turn = 0; turn < all.size(); ++turn)
    all[turn].late_ns = lesser(std::move(all[turn].late_ns), beyond_typical(std::move(gaps[turn])));
}

std::vector<Arrivals> Finder::arrivals(bool devices) {
  std::int64_t known_from = std::numeric_limits<std::int64_t>::min();
  if (!devices)
    for (const Member& member : members_)
      known_from = std::max(known_from, launches_known_from(job_, member.process));
  std::vector<Arrivals> all;
  std::size_t every = std::max<std::size_t>(turns_.size() / kMostTurns, 1);
  for (std::size_t turn = 1; turn < turns_.size(); turn += every) {
    auto found = devices ? by_devices(turn) : by_hosts(turn);
    if (!found) continue;
    bool known = std::all_of(found->windows.begin(), found->windows.end(),
                             [&](const MemberWindow& window) { return window.from_ns >= known_from; });
    if (known) all.push_back(std::move(*found));
  }
  if (!devices && !all.empty()) take_gaps(all);
  return all;
}

std::vector<std::uint32_t> Finder::late_members(const std::vector<Arrivals>& all) const {
  std::vector<std::uint32_t> late;
  for (std::uint32_t m = 0; m < members_.size(); ++m) {
    auto count = static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const Arrivals& turn) { return turn.late_ns[m] > least_ns(turn); }));
    if (count * 4 >= all.size() * 3) late.push_back(m);
  }
  return late;
}

// Of the time in which it was watched; more than one if several threads wait at once.
double Finder::part_without_processor(std::uint32_t member) const {
  double part = 0;
  for (const model::Process& process : job_.processes) {
    if (process.rank != members_[member].rank || process.role == model::Role::kLauncher) continue;
    const model::ProcessorWait& wait = process.processor_wait;
    if (wait.last_ticks <= wait.first_ticks) continue;
    double watched_ns = static_cast<double>(wait.last_ticks - wait.first_ticks) *
                        job_.hosts[process.host].clock.ns_per_tick();
    part += static_cast<double>(wait.waited_ns) / std::max(watched_ns, 1.0);
  }
  return part;
}

Finder::Processors Finder::processors_of(const std::vector<std::uint32_t>& late) const {
  std::vector<double> others;
  double most = 0;
  bool known = true;
  for (std::uint32_t m = 0; m < members_.size(); ++m) {
    bool is_late = std::binary_search(late.begin(), late.end(), m);
    const model::ProcessorWait& wait = job_.processes[members_[m].process].processor_wait;
    known = known && (!is_late || wait.last_ticks > wait.first_ticks);
    if (is_late)
      most = std::max(most, part_without_processor(m));
    else
      others.push_back(part_without_processor(m));
  }
  double typical = model::median(others);
  return {known, std::clamp(most - typical, 0.0, 1.0), std::min(typical, 1.0)};
}

std::optional<LateRanks> Finder::judge(std::vector<Arrivals> all, bool devices) const {
  LateRanks late{index_, devices, late_members(all), 0, {}, all.size()};
  if (late.members.empty() || late.members.size() * 2 > members_.size()) return std::nullopt;
  auto is_late = [&](std::uint32_t m) {
    return std::binary_search(late.members.begin(), late.members.end(), m);
  };
  Processors processors = processors_of(late.members);
  late.waits_known = processors.known;
  std::vector<std::int64_t> lost, lengths;
  for (Arrivals& turn : all) {
    std::int64_t last = std::numeric_limits<std::int64_t>::min(), others = last;
    for (std::uint32_t m = 0; m < members_.size(); ++m)
      (is_late(m) ? last : others) = std::max(is_late(m) ? last : others, turn.late_ns[m]);
    auto waited = static_cast<std::int64_t>(processors.beyond * static_cast<double>(turn.turn_ns));
    std::int64_t lost_ns = std::max<std::int64_t>(last - others - waited - (devices ? 0 : error_ns_), 0);
    lost.push_back(lost_ns);
    lengths.push_back(turn.turn_ns);
    if (lost_ns > turn.turn_ns / kLeastPart)
      late.turns.push_back({turn.ordinal, turn.turn_ns, lost_ns, std::move(turn.windows)});
  }
  if (late.turns.size() < kLeastTurns || late.turns.size() * 4 < all.size() * 3) return std::nullopt;
  late.lost_ns = model::median(lost);
  late.turn_ns = model::median(lengths);
  late.processors_short =
      processors.typical * static_cast<double>(late.turn_ns) > static_cast<double>(late.lost_ns);
  std::vector<std::pair<std::int64_t, std::uint32_t>> others;  // by how late they are in the first turn
  for (std::uint32_t m = 0; m < members_.size(); ++m)
    if (!is_late(m)) others.emplace_back(all.front().late_ns[m], m);
  late.typical = model::median(others).second;
  return late;
}

LateRanksFound Finder::find() {
  if (!pairs_up()) return {};
  turns_ = find_turns(job_, collectives_, device_order_, index_);
  if (turns_.size() <= kLeastTurns) return {};
  if (!clocks_agree()) return {std::nullopt, "the clocks of their hosts are not aligned"};
  look_for_foreign_waits();
  for (const ForeignWaits& foreign : foreign_)
    if (foreign.shape() != foreign_.front().shape())
      return {std::nullopt, "they have different parts in the job, as stages of a pipeline have"};
  std::vector<Arrivals> timed = times_.any() ? arrivals(true) : std::vector<Arrivals>{};
  if (timed.size() > kLeastTurns) {
    for (const ForeignWaits& foreign : foreign_)
      if (foreign.untimed() * 10 > turns_.size())
        return {std::nullopt, "what they wait for on other communicators was not timed"};
    error_ns_ = 0;  // lengths are compared
    return {judge(std::move(timed), true), ""};
  }
  std::vector<Arrivals> hosts = arrivals(false);
  if (hosts.size() <= kLeastTurns)
    return {std::nullopt, "no device times were recorded, and hosts do not wait in each step"};
  LateRanksFound found{judge(std::move(hosts), false), ""};
  if (!found.late)
    found.doubt = "no device times were recorded: a rank whose device is slow shows in no call of its host";
  return found;
}

}  // namespace

LateRanksFound find_late_ranks(const model::Job& job, const matching::Collectives& collectives,
                               const ordering::DeviceOrder& device_order, const CollectiveTimes& times,
                               std::uint32_t communicator) {
  return Finder(job, collectives, device_order, times, communicator).find();
}

}  // namespace ddpscope::patterns
