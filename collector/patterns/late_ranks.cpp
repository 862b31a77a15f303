// First when each member came in each turn, then whether some always come last.
#include "collector/patterns/late_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "collector/model/order_statistics.h"
#include "collector/patterns/device_turns.h"
#include "collector/patterns/foreign_waits.h"
#include "collector/patterns/known_launches.h"
#include "collector/patterns/launch_gaps.h"
#include "collector/patterns/processors.h"

namespace ddpscope::patterns {
namespace {

using matching::kNone;
using matching::Member;
using trace::Operation;
using trace::Record;

constexpr std::size_t kMostTurns = 4096;  // looked at, spread over the job
// By devices fewer, where these have so many collectives of all members; not below a few times kLeastTurns.
constexpr std::size_t kMostComings = std::size_t{1} << 26, kFewTurns = 256;
constexpr std::int64_t kSteady = 3;  // in three turns of four one part in so many of the median is lost

// Of all members in one turn.
struct Arrivals {
  std::uint32_t ordinal;
  std::int64_t turn_ns;
  std::vector<MemberWindow> windows;
  std::vector<LostTime> late;  // beyond the typical member
  std::size_t turn;
  std::int64_t open_ns = 0;  // as in DeviceTurn
};

// By what ranks are found late: by what is lost at least, or may be lost at most.
enum class Measure : bool { kLeast, kMost };

std::int64_t value_of(const LostTime& time, Measure measure) {
  return measure == Measure::kLeast ? time.least_ns : time.most_ns;
}

// What late members cost in a turn, and how long the last of the others waited for them in one collective.
struct LostTurn {
  LostTime time;
  std::int64_t waited_ns;
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

// Empty if it cannot be so much that it would count.
std::string what_is_open(const std::vector<Arrivals>& timed) {
  auto count = std::ranges::count_if(
      timed, [](const Arrivals& turn) { return turn.open_ns * 100 >= turn.turn_ns * kLeastPercent; });
  if (!is_late_in_most(static_cast<std::size_t>(count), timed.size())) return {};
  return "in each step some wait long in broadcasts, or in other collectives with a root: for inputs that "
         "one rank hands out, or for a rank that is late";
}

class Finder {
 public:
  Finder(const model::Job& job, const matching::Collectives& collectives,
         const ordering::DeviceOrder& device_order, const CollectiveTimes& times,
         const LazyFrameworkSteps& steps, std::uint32_t communicator)
      : job_(job),
        collectives_(collectives),
        device_order_(device_order),
        times_(times),
        steps_(steps),
        index_(communicator),
        members_(collectives.communicators[communicator].members) {}

  LateRanksFound find();
  std::vector<TurnWait> waits_for(const std::vector<bool>& who);

 private:
  bool pairs_up() const;
  std::string why_few_turns() const;
  bool clocks_agree();
  void look_for_turns();
  void look_for_foreign_waits();
  void look_at_devices() {
    device_turns_.emplace(job_, collectives_, device_order_, times_, index_, *rooted_, foreign_);
  }
  std::vector<MemberWindow> windows_of(const DeviceTurn& turn) const;
  std::optional<Arrivals> by_devices(std::size_t turn) const;
  std::optional<Arrivals> by_hosts(std::size_t turn) const;
  bool is_timed(const Turn& turn) const;
  std::vector<std::size_t> turns_to_look_at(bool devices) const;
  bool any_foreign_untimed(const std::vector<Arrivals>& timed) const;
  std::vector<Arrivals> arrivals(bool devices);
  void take_gaps(std::vector<Arrivals>& all) const;
  std::int64_t known_ns(const Member& member, std::uint32_t ordinal) const {
    return device_order_.complete_ns(member.calls[ordinal]);
  }
  std::vector<bool> late_members(const std::vector<Arrivals>& all, Measure measure) const;
  std::int64_t least_ns(const Arrivals& turn) const { return std::max(error_ns_, turn.turn_ns / kLeastPart); }
  LostTurn lost_in(const Arrivals& turn, const std::vector<bool>& is_late, bool devices) const;
  std::optional<LateRanks> judge(const std::vector<Arrivals>& all, bool devices, Measure measure) const;
  std::string what_is_unsteady(const std::vector<Arrivals>& timed) const;
  bool in_graphs() const;
  std::string what_is_untimed() const;

  const model::Job& job_;
  const matching::Collectives& collectives_;
  const ordering::DeviceOrder& device_order_;
  const CollectiveTimes& times_;
  const LazyFrameworkSteps& steps_;
  std::uint32_t index_;
  const std::vector<Member>& members_;
  std::int64_t error_ns_ = 0;  // of the clocks of any two members
  std::vector<Turn> turns_;
  std::optional<RootedCollectives> rooted_;
  std::vector<ForeignWaits> foreign_;        // by member
  std::optional<DeviceTurns> device_turns_;  // if device times are compared
};

bool Finder::pairs_up() const {
  const matching::Communicator& communicator = collectives_.communicators[index_];
  return members_.size() > 1 && communicator.without_trace() == 0 &&
         std::ranges::none_of(members_, &Member::incomplete);
}

// Of most collectives.
bool Finder::in_graphs() const {
  std::size_t count = 0;
  for (std::uint32_t call : members_.front().calls) count += collectives_.calls.form(call).by_graph();
  return count * 2 > members_.front().calls.size();
}

std::string Finder::what_is_untimed() const {
  if (in_graphs()) return "collectives in graphs are not timed";
  if (times_.on_hosts())
    return times_.any() ? "in too few of their collectives the recorded times show which rank was last"
                        : "when their collectives ran is not recorded";
  return times_.any() ? "in too few of their collectives the device times show which rank was last"
                      : "no device times were recorded";
}

std::string Finder::why_few_turns() const {
  if (in_graphs()) return what_is_untimed() + ", and hosts wait for these fewer than 50 times";
  return "fewer than 50 of their steps are seen: the job is short, or neither an optimizer's update nor a "
         "wait of the host shows where steps end";
}

bool Finder::clocks_agree() {
  for (const Member& a : members_)
    for (const Member& b : members_)
      error_ns_ = std::max(error_ns_, job_.clock_error_between(a.process, b.process));
  return error_ns_ < model::kUnaligned;
}

void Finder::look_for_turns() {
  turns_ = times_.on_hosts() ? find_host_turns(steps_.get(), collectives_, device_order_, index_)
                             : find_turns(job_, collectives_, device_order_, index_);
}

void Finder::look_for_foreign_waits() {
  rooted_.emplace(job_, collectives_, times_, index_, turns_);
  for (const Member& member : members_)
    foreign_.emplace_back(job_, collectives_, device_order_, times_, index_, member);
}

std::optional<Arrivals> Finder::by_devices(std::size_t turn) const {
  auto read = device_turns_->read(turns_[turn - 1], turns_[turn]);
  if (!read) return std::nullopt;
  return Arrivals{read->longest().ordinal, read->length_ns(), windows_of(*read), read->late(), turn,
                  read->open_ns()};
}

std::vector<MemberWindow> Finder::windows_of(const DeviceTurn& turn) const {
  std::vector<MemberWindow> windows;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const MemberComing& coming = turn.last().members[m];
    std::int64_t issued_ns = collectives_.begin_ns_at(members_[m], turn.last().ordinal);
    // Where threads of the host are still busy with collectives before it, the host has come long since.
    std::int64_t came_ns = times_.on_hosts() ? issued_ns : coming.begin_ns;
    windows.push_back({coming.from_ns, came_ns, issued_ns, coming.begin_ns + coming.length_ns});
  }
  return windows;
}

// All hosts know that the turn before is over when they go on.
std::optional<Arrivals> Finder::by_hosts(std::size_t turn) const {
  std::uint32_t last = turns_[turn - 1].end - 1;
  std::optional<std::uint32_t> first = rooted_->first_for_all(turns_[turn]);
  if (!first) return std::nullopt;
  Arrivals found{*first, 0, {}, {}, turn};
  std::vector<std::int64_t> values, own_values;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    if (turns_[turn].end > member.calls.size()) return std::nullopt;
    std::int64_t came_ns = collectives_.begin_ns_at(member, *first);
    MemberWindow window{known_ns(member, last), came_ns, came_ns, known_ns(member, turns_[turn].end - 1)};
    if (window.from_ns == ordering::kNever || window.from_ns > window.came_ns) return std::nullopt;
    if (window.over_ns == ordering::kNever) return std::nullopt;
    found.turn_ns = std::max(found.turn_ns, window.over_ns - window.from_ns);
    values.push_back(window.came_ns);
    own_values.push_back(window.came_ns - foreign_[m].within(window.from_ns, window.came_ns));
    found.windows.push_back(window);
  }
  found.late = exactly(lesser(beyond_typical(std::move(values)), beyond_typical(std::move(own_values))));
  return found;
}

// By hosts: how long each took until its first launch, beyond the typical one.
void Finder::take_gaps(std::vector<Arrivals>& all) const {
  std::vector<std::vector<std::int64_t>> gaps(all.size());
  for (std::size_t m = 0; m < members_.size(); ++m) {
    std::vector<Stretch> stretches;
    for (const Arrivals& turn : all) stretches.push_back({turn.windows[m].from_ns, turn.windows[m].came_ns});
    auto of_member = gaps_before_launches(job_, members_[m].process, stretches);
    for (std::size_t turn = 0; turn < all.size(); ++turn) gaps[turn].push_back(of_member[turn]);
  }
  for (std::size_t turn = 0; turn < all.size(); ++turn) {
    std::vector<LostTime> late = exactly(beyond_typical(std::move(gaps[turn])));
    for (std::size_t m = 0; m < members_.size(); ++m) all[turn].late[m] = lesser(all[turn].late[m], late[m]);
  }
}

bool Finder::is_timed(const Turn& turn) const {
  return times_.of(members_.front().calls[turn.first]) || times_.of(members_.front().calls[turn.end - 1]);
}

// Spread over those that may be timed: of a long job that may be a few in a hundred.
std::vector<std::size_t> Finder::turns_to_look_at(bool devices) const {
  std::vector<std::size_t> known;
  for (std::size_t turn = 1; turn < turns_.size(); ++turn)
    if (!devices || is_timed(turns_[turn])) known.push_back(turn);
  std::size_t most = kMostTurns;
  if (devices) {
    std::size_t comings = members_.size() * (turns_.back().end - turns_.front().first) / turns_.size();
    most = std::clamp(kMostComings / std::max<std::size_t>(comings, 1), kFewTurns, kMostTurns);
  }
  std::size_t every = std::max<std::size_t>(known.size() / most, 1);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < known.size(); i += every) chosen.push_back(known[i]);
  return chosen;
}

std::vector<Arrivals> Finder::arrivals(bool devices) {
  std::int64_t known_from = std::numeric_limits<std::int64_t>::min();
  if (!devices)
    for (const Member& member : members_)
      known_from = std::max(known_from, launches_known_from(job_, member.process));
  if (devices) look_at_devices();
  std::vector<Arrivals> all;
  for (std::size_t turn : turns_to_look_at(devices)) {
    auto found = devices ? by_devices(turn) : by_hosts(turn);
    if (!found) continue;
    auto known = [&](const MemberWindow& window) { return window.from_ns >= known_from; };
    if (std::ranges::all_of(found->windows, known)) all.push_back(std::move(*found));
  }
  if (!devices && !all.empty()) take_gaps(all);
  return all;
}

std::vector<bool> Finder::late_members(const std::vector<Arrivals>& all, Measure measure) const {
  std::vector<bool> late(members_.size());
  for (std::uint32_t m = 0; m < members_.size(); ++m) {
    auto count = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const Arrivals& turn) {
      return value_of(turn.late[m], measure) > least_ns(turn);
    }));
    late[m] = count * 4 >= all.size() * 3;
  }
  return late;
}

LostTurn Finder::lost_in(const Arrivals& turn, const std::vector<bool>& is_late, bool devices) const {
  LostTime last{}, others{};
  for (std::uint32_t m = 0; m < members_.size(); ++m) {
    LostTime& latest = is_late[m] ? last : others;
    latest = {std::max(latest.least_ns, turn.late[m].least_ns),
              std::max(latest.most_ns, turn.late[m].most_ns)};
  }
  if (!devices) {
    std::int64_t waited_ns = last.least_ns - others.least_ns;
    return {{waited_ns - error_ns_, waited_ns - error_ns_}, waited_ns};
  }
  auto read = device_turns_->read(turns_[turn.turn - 1], turns_[turn.turn]);
  return {lesser(read->lost_by(is_late), last), read->waited_ns(turn.ordinal, is_late)};
}

std::optional<LateRanks> Finder::judge(const std::vector<Arrivals>& all, bool devices,
                                       Measure measure) const {
  std::vector<bool> is_late = late_members(all, measure);
  KnownBy by_times = times_.on_hosts() ? KnownBy::kRuns : KnownBy::kDevices;
  LateRanks late{index_, devices ? by_times : KnownBy::kCalls, {}, 0, {}, all.size()};
  for (std::uint32_t m = 0; m < members_.size(); ++m)
    if (is_late[m]) late.members.push_back(m);
  if (late.members.empty() || late.members.size() * 2 > members_.size()) return std::nullopt;
  Processors processors = find_processors(job_, members_, is_late);
  late.waits_known = processors.known;
  std::vector<std::int64_t> least, most, lengths;
  for (const Arrivals& turn : all) {
    LostTurn lost = lost_in(turn, is_late, devices);
    auto without_processor = static_cast<std::int64_t>(processors.beyond * static_cast<double>(turn.turn_ns));
    for (std::int64_t* ns : {&lost.time.least_ns, &lost.time.most_ns})
      *ns = std::max<std::int64_t>(*ns - without_processor, 0);
    least.push_back(lost.time.least_ns);
    most.push_back(lost.time.most_ns);
    lengths.push_back(turn.turn_ns);
    if (value_of(lost.time, measure) > turn.turn_ns / kLeastPart)
      late.turns.push_back({turn.ordinal, turn.turn_ns, lost.time.least_ns, lost.waited_ns, turn.windows});
  }
  if (!is_late_in_most(late.turns.size(), all.size())) return std::nullopt;
  late.lost_ns = model::median(least);
  // Where it is late in every second step the median is that of either kind, as chance will have it.
  std::vector<std::int64_t>& counted = measure == Measure::kLeast ? least : most;
  if (model::value_at(counted, counted.size() / 4) * kSteady < model::median(counted)) return std::nullopt;
  late.most_ns = model::median(most);
  late.turn_ns = model::median(lengths);
  // Devices that take as much longer in one turn than in another hide that a host is late; which do, no host
  // shows.
  if (!devices &&
      model::value_at(lengths, lengths.size() * 3 / 4) - model::value_at(lengths, lengths.size() / 4) >
          late.lost_ns)
    return std::nullopt;
  late.processors_short =
      processors.typical * static_cast<double>(late.turn_ns) > static_cast<double>(late.lost_ns);
  std::vector<std::pair<std::int64_t, std::uint32_t>> others;  // by how late they are in the first turn
  for (std::uint32_t m = 0; m < members_.size(); ++m)
    if (!is_late[m]) others.emplace_back(all.front().late[m].least_ns, m);
  late.typical = model::median(others).second;
  return late;
}

// A rank that costs as much as would count, and many times more than any other, but not in each turn: a
// loader with several workers that is too slow brings their batches all at once, and so does a rank that has
// more to do in some steps. Empty if there is none.
std::string Finder::what_is_unsteady(const std::vector<Arrivals>& timed) const {
  constexpr std::int64_t kMuchMore = 4;  // than the others
  std::vector<std::int64_t> late_ns(members_.size());
  std::vector<std::size_t> times_late(members_.size());
  std::int64_t all_ns = 0;
  for (const Arrivals& turn : timed) {
    all_ns += turn.turn_ns;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      std::int64_t ns = turn.late[m].least_ns;
      if (ns <= least_ns(turn)) continue;
      late_ns[m] += ns;
      ++times_late[m];
    }
  }
  std::size_t last = static_cast<std::size_t>(std::ranges::max_element(late_ns) - late_ns.begin());
  for (std::size_t m = 0; m < members_.size(); ++m)
    if (m != last && late_ns[m] * kMuchMore > late_ns[last]) return {};
  if (late_ns[last] * 100 < all_ns * kLeastPercent || times_late[last] * 3 < timed.size()) return {};
  std::vector<bool> is_late(members_.size());
  is_late[last] = true;
  Processors processors = find_processors(job_, members_, is_late);
  double waited = (processors.typical + processors.beyond) * static_cast<double>(all_ns);
  if (waited >= static_cast<double>(late_ns[last])) return kProcessorsShort;
  return fmt::format(
      "rank {} comes last in {} of {} steps, which costs up to {} % of the time, but much more in some steps "
      "than in others: "
      "its input may be slow, or it may have more to do in some steps",
      members_[last].rank, times_late[last], timed.size(),
      late_ns[last] * 100 / std::max<std::int64_t>(all_ns, 1));
}

// In one turn of ten or more.
bool Finder::any_foreign_untimed(const std::vector<Arrivals>& timed) const {
  for (std::size_t m = 0; m < members_.size(); ++m) {
    std::size_t untimed = 0;
    for (const Arrivals& turn : timed)
      untimed += foreign_[m].untimed_within(turn.windows[m].from_ns, turn.windows[m].over_ns);
    if (untimed * 10 > timed.size()) return true;
  }
  return false;
}

LateRanksFound Finder::find() {
  if (!pairs_up()) return {};
  look_for_turns();
  if (turns_.size() <= kLeastTurns) return {.too_few_turns = why_few_turns()};
  if (!clocks_agree()) return {.doubt = "the clocks of their hosts are not aligned"};
  look_for_foreign_waits();
  for (const ForeignWaits& foreign : foreign_)
    if (foreign.shape() != foreign_.front().shape())
      return {.doubt = "they have different parts in the job, as stages of a pipeline have"};
  std::vector<Arrivals> timed = times_.any() ? arrivals(true) : std::vector<Arrivals>{};
  if (timed.size() > kLeastTurns) {
    if (any_foreign_untimed(timed))
      return {.doubt = "what they wait for on other communicators was not timed"};
    error_ns_ = 0;  // lengths are compared
    LateRanksFound found{.late = judge(timed, true, Measure::kLeast)};
    bool same = late_members(timed, Measure::kLeast) == late_members(timed, Measure::kMost);
    if (!found.late || !same) found.perhaps = judge(timed, true, Measure::kMost);
    auto counts = [](const std::optional<LateRanks>& late) { return late && late->counts(); };
    if (counts(found.late) || counts(found.perhaps)) return found;
    found.doubt = what_is_open(timed);
    if (found.doubt.empty()) found.doubt = what_is_unsteady(timed);
    return found;
  }
  if (times_.on_hosts()) return {.doubt = what_is_untimed()};
  std::vector<Arrivals> hosts = arrivals(false);
  if (hosts.size() <= kLeastTurns)
    return {.doubt = what_is_untimed() + ", and hosts do not wait in each step"};
  LateRanksFound found{.late = judge(hosts, false, Measure::kLeast)};
  if (!found.late)
    found.doubt = what_is_untimed() + ": a rank whose device is slow shows in no call of its host";
  return found;
}

std::vector<TurnWait> Finder::waits_for(const std::vector<bool>& who) {
  if (!pairs_up() || !times_.any()) return {};
  look_for_turns();
  if (turns_.size() <= kLeastTurns) return {};
  look_for_foreign_waits();
  std::vector<TurnWait> waits;
  look_at_devices();
  for (std::size_t turn : turns_to_look_at(true))
    if (auto read = device_turns_->read(turns_[turn - 1], turns_[turn]))
      waits.push_back({windows_of(*read), read->waited_for(who)});
  return waits;
}

}  // namespace

LateRanksFound find_late_ranks(const model::Job& job, const matching::Collectives& collectives,
                               const ordering::DeviceOrder& device_order, const CollectiveTimes& times,
                               const LazyFrameworkSteps& steps, std::uint32_t communicator) {
  return Finder(job, collectives, device_order, times, steps, communicator).find();
}

std::vector<TurnWait> find_turn_waits(const model::Job& job, const matching::Collectives& collectives,
                                      const ordering::DeviceOrder& device_order, const CollectiveTimes& times,
                                      const LazyFrameworkSteps& steps, std::uint32_t communicator,
                                      const std::vector<bool>& who) {
  return Finder(job, collectives, device_order, times, steps, communicator).waits_for(who);
}

}  // namespace ddpscope::patterns
