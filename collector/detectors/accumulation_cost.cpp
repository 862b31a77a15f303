// Stretches of steps, spread over the job, and what a replay says of each.
#include "collector/detectors/accumulation_cost.h"

#include <algorithm>
#include <unordered_set>

#include "collector/model/order_statistics.h"
#include "collector/patterns/step_replay.h"

namespace ddpscope::detectors {
namespace {

using matching::Communicator;
using matching::Member;
using patterns::RepeatedHabit;
using patterns::RepeatedSet;
using patterns::Stretch;

constexpr std::size_t kMostStretches = 32;
constexpr std::size_t kMostSteps = 64;       // of a stretch
constexpr std::size_t kMostCalls = 1 << 20;  // of all ranks, in all stretches

// Steps first..last of the redundant ones, which follow each other.
struct Steps {
  std::size_t first, last;
  std::size_t count() const { return last - first + 1; }
};

class Cost {
 public:
  Cost(const Facts& facts, const RepeatedHabit& habit, const patterns::LinkCost& link)
      : facts_(facts),
        habit_(habit),
        link_(link),
        index_(facts.collectives.calls.form(number(habit.redundant.front().first(0))).communicator),
        communicator_(facts.collectives.communicators[index_]) {}

  std::optional<double> saved_ns_per_step();

 private:
  std::uint32_t number(std::uint32_t entry) const { return habit_.rank.entries[entry].call; }
  std::size_t ordinal(std::uint32_t entry) const { return facts_.collectives.ordinal_of(number(entry)); }
  bool pairs_up() const;
  std::optional<std::int64_t> known_complete_ns(const Member& member, std::size_t step) const;
  bool complete_everywhere(std::size_t step) const;
  bool follows(std::size_t step) const;
  std::vector<Steps> find_stretches() const;
  void read(const std::vector<Steps>& stretches);
  std::optional<double> replay(const Steps& steps, std::size_t stretch) const;

  const Facts& facts_;
  const RepeatedHabit& habit_;
  const patterns::LinkCost& link_;
  std::uint32_t index_;
  const Communicator& communicator_;
  std::vector<patterns::DeviceCalls> ranks_;  // by member
};

// Each rank has a process of its own, and its calls are those that the others' belong to.
bool Cost::pairs_up() const {
  std::unordered_set<std::uint32_t> processes;
  std::size_t last = ordinal(habit_.redundant.back().entries.back());
  return std::all_of(communicator_.members.begin(), communicator_.members.end(), [&](const Member& member) {
    return !member.incomplete && last < member.calls.size() && processes.insert(member.process).second;
  });
}

// When this rank's host knew that the reductions of the step were.
std::optional<std::int64_t> Cost::known_complete_ns(const Member& member, std::size_t step) const {
  std::size_t last = ordinal(habit_.redundant[step].entries.back());
  const ordering::Completion& completion = facts_.device_order.completions[member.calls[last]];
  if (completion.wait == matching::kNone) return std::nullopt;
  std::int64_t own_ns = completion.own_wait == matching::kNone
                            ? ordering::kNever
                            : facts_.device_order.waits[completion.own_wait].end_ns;
  return own_ns == ordering::kNever ? facts_.device_order.waits[completion.wait].end_ns : own_ns;
}

bool Cost::complete_everywhere(std::size_t step) const {
  bool last = step + 1 == habit_.redundant.size();
  std::size_t next = last ? 0 : ordinal(habit_.redundant[step + 1].first(0));
  return std::all_of(communicator_.members.begin(), communicator_.members.end(), [&](const Member& member) {
    auto known_ns = known_complete_ns(member, step);
    return known_ns && (last || *known_ns <= facts_.collectives.begin_ns_at(member, next));
  });
}

bool Cost::follows(std::size_t step) const {
  return habit_.redundant[step].step->begin_ns == habit_.redundant[step - 1].step->end_ns;
}

std::vector<Steps> Cost::find_stretches() const {
  std::vector<Steps> all;
  bool known = complete_everywhere(0);
  for (std::size_t step = 1, first = 1; step < habit_.redundant.size(); ++step) {
    bool goes_on = known && follows(step);
    bool complete = complete_everywhere(step);
    if (!goes_on || complete) {
      if (goes_on && step - first < kMostSteps) all.push_back({first, step});
      known = complete;
      first = step + 1;
    }
  }
  if (all.size() <= kMostStretches) return all;
  std::vector<Steps> some;
  for (std::size_t i = 0; i < kMostStretches; ++i) some.push_back(all[i * all.size() / kMostStretches]);
  return some;
}

void Cost::read(const std::vector<Steps>& stretches) {
  for (const Member& member : communicator_.members) {
    std::vector<Stretch> times;
    for (const Steps& steps : stretches)
      times.push_back({*known_complete_ns(member, steps.first - 1), *known_complete_ns(member, steps.last)});
    ranks_.push_back(patterns::read_device_calls(facts_.job, facts_.collectives, member.process, times,
                                                 kMostCalls / communicator_.members.size()));
  }
}

// Nothing if the stretch is not whole on each rank.
std::optional<double> Cost::replay(const Steps& steps, std::size_t stretch) const {
  std::vector<patterns::ReplayedRank> ranks;
  for (const patterns::DeviceCalls& rank : ranks_) {
    if (stretch >= rank.stretches.size()) return std::nullopt;
    ranks.push_back({&rank.streams, &rank.stretches[stretch]});
  }
  std::unordered_set<std::size_t> redundant;  // by place in the communicator's order
  for (std::size_t step = steps.first; step <= steps.last; ++step) {
    const RepeatedSet& sets = habit_.redundant[step];
    for (std::size_t i = 0; i < sets.entries.size() - sets.set_size; ++i)
      redundant.insert(ordinal(sets.entries[i]));
  }
  auto left_out = [&](std::uint32_t call) {
    return facts_.collectives.calls.form(call).communicator == index_ &&
           redundant.contains(facts_.collectives.ordinal_of(call));
  };
  auto saved_ns = patterns::saved_ns(facts_.collectives, link_, ranks, left_out);
  if (!saved_ns) return std::nullopt;
  return *saved_ns / static_cast<double>(steps.count());
}

std::optional<double> Cost::saved_ns_per_step() {
  if (!pairs_up()) return std::nullopt;
  std::vector<Steps> stretches = find_stretches();
  read(stretches);
  std::vector<double> saved;
  for (std::size_t i = 0; i < stretches.size(); ++i)
    if (auto ns = replay(stretches[i], i)) saved.push_back(*ns);
  if (saved.empty()) return std::nullopt;
  return model::median(saved);
}

}  // namespace

std::optional<double> saved_ns_per_step(const Facts& facts, const RepeatedHabit& habit) {
  auto link = patterns::learn_link_cost(facts.job, facts.collectives, facts.device_order);
  if (!link) return std::nullopt;
  return Cost(facts, habit, *link).saved_ns_per_step();
}

}  // namespace ddpscope::detectors
