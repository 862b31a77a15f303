// Sorts the members at a divergence into those that are done and those that go on, then asks for the reasons.
#include "collector/patterns/uneven_steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "collector/patterns/pass_end.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {
namespace {

using matching::Collectives;
using matching::Divergence;
using matching::kNone;

constexpr std::size_t kWholePercent = 90;  // of the kernels of a micro-batch

// What a rank did between its last step and a call of its own.
struct Tail {
  std::size_t steps = 0;     // before
  bool micro_batch = false;  // forward and backward pass
  LastStretch stretch = {};
};

// None: no step, or no kernels in it.
std::optional<Tail> find_tail(const model::Job& job, const Collectives& collectives, std::uint32_t call) {
  matching::CollectiveCall at = collectives.calls[call];
  RankSteps rank = find_steps(job, collectives, at.event.process);
  auto later = [&](const Step& step) { return step.end_ns > at.begin_ns; };
  auto end = std::find_if(rank.steps.begin(), rank.steps.end(), later);
  if (end == rank.steps.begin()) return std::nullopt;
  const Step& last = *(end - 1);
  std::unordered_set<std::uint64_t> usual, seen;
  auto add = [&](std::uint32_t entry, auto&& act) {
    for (std::uint32_t k = rank.entries[entry].first_kernel; k < rank.entries[entry].end_kernel; ++k)
      act(rank.kernels[k].kernel);
  };
  for (std::uint32_t i = last.first_entry; i < last.end_entry; ++i) {
    add(i, [&](std::uint64_t kernel) { usual.insert(kernel); });
    if (rank.entries[i].kind == StepEntry::Kind::kReduction) break;
  }
  if (usual.empty()) return std::nullopt;
  auto tail = std::find_if(rank.entries.begin() + last.first_entry, rank.entries.end(),
                           [&](const StepEntry& entry) { return entry.begin_ns > last.end_ns; });
  for (auto i = static_cast<std::uint32_t>(tail - rank.entries.begin()); i < rank.entries.size(); ++i) {
    add(i, [&](std::uint64_t kernel) {
      if (usual.contains(kernel)) seen.insert(kernel);
    });
    if (rank.entries[i].call == call) break;
  }
  Tail found{static_cast<std::size_t>(end - rank.steps.begin()),
             seen.size() * 100 >= usual.size() * kWholePercent,
             {rank.rank, last.end_ns, at.begin_ns, {}}};
  for (auto step = rank.steps.begin(); step != end; ++step) found.stretch.steps_ns.push_back(step->end_ns);
  return found;
}

class Candidate {
 public:
  Candidate(const model::Job& job, const Collectives& collectives, const Divergence& divergence)
      : job_(job), collectives_(collectives), divergence_(divergence) {}

  // False: members do something else.
  bool sort_members(const std::vector<DataParallelGroup>& groups) {
    const auto& members = collectives_.communicators[divergence_.communicator].members;
    for (std::uint32_t m = 0; m < members.size(); ++m) {
      std::uint32_t call = divergence_.calls[m];
      if (call == kNone) continue;
      bool reduces = is_reduction(collectives_.calls.signature(call));
      if (!reduces && reduces_after(members[m], call)) return false;
      (reduces ? going_on_ : done_).emplace(members[m].rank, call);
    }
    return !done_.empty() && !going_on_.empty() &&
           std::any_of(groups.begin(), groups.end(), [&](const DataParallelGroup& group) {
             auto in = [&](const auto& side) { return group.of_rank.contains(side.first); };
             return std::all_of(done_.begin(), done_.end(), in) &&
                    std::all_of(going_on_.begin(), going_on_.end(), in);
           });
  }

  std::optional<UnevenSteps> judge() const {
    UnevenSteps found{&divergence_, {}, {}, 0, true};
    std::vector<LastStretch> done, going_on;
    for (const auto& [rank, call] : done_) {
      auto tail = find_tail(job_, collectives_, call);
      if (!tail || tail->micro_batch) return std::nullopt;
      found.done.push_back(rank);
      found.steps = tail->steps;
      done.push_back(std::move(tail->stretch));
    }
    for (const auto& [rank, call] : going_on_) {
      auto tail = find_tail(job_, collectives_, call);
      if (!tail || !tail->micro_batch || tail->steps != found.steps) return std::nullopt;
      found.going_on.push_back(rank);
      going_on.push_back(std::move(tail->stretch));
    }
    Data data = find_data_left(job_, done, going_on);
    if (data == Data::kLeft) return std::nullopt;
    found.data_seen = data == Data::kUsedUp;
    return found;
  }

 private:
  bool reduces_after(const matching::Member& member, std::uint32_t call) const {
    for (std::size_t i = collectives_.ordinal_of(call) + 1; i < member.calls.size(); ++i)
      if (is_reduction(collectives_.calls.signature(member.calls[i]))) return true;
    return false;
  }

  const model::Job& job_;
  const Collectives& collectives_;
  const Divergence& divergence_;
  std::map<std::int32_t, std::uint32_t> done_, going_on_;  // call by rank
};

}  // namespace

std::vector<UnevenSteps> find_uneven_steps(const model::Job& job, const Collectives& collectives,
                                           const matching::Divergences& divergences,
                                           const std::vector<DataParallelGroup>& groups) {
  std::vector<UnevenSteps> found;
  std::set<std::uint32_t> met;  // what comes after the first is paired with a neighbour
  for (const Divergence& divergence : divergences.divergences) {
    if (!met.insert(divergence.communicator).second) continue;
    Candidate candidate(job, collectives, divergence);
    if (!candidate.sort_members(groups)) continue;
    if (auto uneven = candidate.judge()) found.push_back(std::move(*uneven));
  }
  return found;
}

}  // namespace ddpscope::patterns
