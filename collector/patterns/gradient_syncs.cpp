// Steps with one set of reductions, and those with none.
#include "collector/patterns/gradient_syncs.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "collector/model/nccl_types.h"

namespace ddpscope::patterns {
namespace {

using matching::CallForm;
using matching::Collectives;
using matching::kNone;
using trace::Operation;
using Kind = StepEntry::Kind;

constexpr double kMostKernels = 0.8;  // different ones; those that fill a bucket run where it is reduced
constexpr double kNearlyAll = 0.9;    // of the kernels of a micro-batch
constexpr double kFewKernels = 0.25;  // of a step: copying, packing and scaling what is reduced
constexpr std::uint64_t kLeastValues = 1024;  // of a model
constexpr std::size_t kLeastUpdates = 3;      // fewer try something out
constexpr std::size_t kWithin = 1000;         // steps, in which Local SGD averages at least once
constexpr std::size_t kSeldom = 10;           // steps over those that reduce something: metrics

using Kernels = std::unordered_map<std::uint64_t, std::uint64_t>;  // launches of each

class StepReader {
 public:
  StepReader(const Collectives& collectives, const RankSteps& rank)
      : collectives_(collectives), rank_(rank) {}

  std::optional<EarlySync> read(const Step& step) const {
    if (step.captured) return std::nullopt;
    std::uint32_t first = step.end_entry, last = step.end_entry;
    for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
      if (!may_share_gradients(i)) continue;
      if (first == step.end_entry && rank_.entries[i].kind == Kind::kReduction) first = i;
      last = i;
    }
    if (first == step.end_entry) return std::nullopt;
    std::uint32_t input = input_behind(step, last);
    if (input == step.end_entry || !is_whole_micro_batch(step, last_of_its_micro_batch(step, first), input))
      return std::nullopt;
    return EarlySync{&step, first, input};
  }

  // Whether its reductions all come before its first input, and nearly all kernels behind them.
  bool reduces_at_begin(const Step& step, const std::set<std::uint64_t>& handed_out) const {
    std::uint32_t input = step.first_entry, last = step.end_entry;
    while (input < step.end_entry && rank_.entries[input].kind != Kind::kInput) ++input;
    for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
      if (rank_.entries[i].kind != Kind::kReduction || !may_share_gradients(i)) continue;
      if (i > input || handed_out.contains(collectives_.calls.form(rank_.entries[i].call).buffer))
        return false;
      last = i;
    }
    if (last == step.end_entry || step.captured) return false;
    Kernels before_it = before(step.first_entry, last + 1);
    return static_cast<double>(sum_of(before_it)) <
           kFewKernels * static_cast<double>(sum_of(kernels_of(step)));
  }

  // What runs from the input of the last micro-batch that is reduced to its last reduction.
  Kernels reduced_micro_batch(const Step& step) const {
    for (std::uint32_t i = step.end_entry; i-- > step.first_entry;)
      if (may_share_gradients(i)) return before(begin_of_micro_batch(step, i), i + 1);
    return {};
  }

  bool runs(const Step& step, const Kernels& wanted) const { return are_among(wanted, kernels_of(step)); }

 private:
  // Also what is compressed first, and exchanged as bytes. What is handed out, or gathered, are parameters.
  bool may_share_gradients(std::uint32_t entry) const {
    if (rank_.entries[entry].call == kNone) return false;
    const matching::Signature& signature = collectives_.calls.signature(rank_.entries[entry].call);
    bool hands_out = signature.operation == Operation::kAllGather ||
                     signature.operation == Operation::kBroadcast ||
                     signature.operation == Operation::kScatter;
    return !hands_out && matching::bytes_of(signature) >= kLeastGradientBytes;
  }

  std::uint32_t input_behind(const Step& step, std::uint32_t entry) const {
    while (++entry < step.end_entry)
      if (rank_.entries[entry].kind == Kind::kInput) return entry;
    return step.end_entry;
  }

  void count(std::uint32_t first_kernel, std::uint32_t end_kernel, Kernels& kernels) const {
    for (std::uint32_t k = first_kernel; k < end_kernel; ++k)
      kernels[rank_.kernels[k].kernel] += rank_.kernels[k].count;
  }

  // Kernels launched before the entries from `begin` on, up to `end`.
  Kernels before(std::uint32_t begin, std::uint32_t end) const {
    Kernels kernels;
    for (std::uint32_t i = begin; i < end; ++i)
      count(rank_.entries[i].first_kernel, rank_.entries[i].end_kernel, kernels);
    return kernels;
  }

  // Behind the last input before `reduction`, or the optimizer: where its micro-batch begins.
  std::uint32_t begin_of_micro_batch(const Step& step, std::uint32_t reduction) const {
    std::uint32_t begin = reduction;
    while (begin > step.first_entry && rank_.entries[begin - 1].kind != Kind::kInput) --begin;
    return begin;
  }

  // The first bucket may be full after little of the backward pass.
  std::uint32_t last_of_its_micro_batch(const Step& step, std::uint32_t reduction) const {
    std::uint32_t last = reduction;
    for (std::uint32_t i = reduction + 1; i < step.end_entry && rank_.entries[i].kind != Kind::kInput; ++i)
      if (may_share_gradients(i)) last = i;
    return last;
  }

  bool is_whole_micro_batch(const Step& step, std::uint32_t reduction, std::uint32_t input) const {
    Kernels wanted = before(begin_of_micro_batch(step, reduction), reduction + 1);
    Kernels made = before(input + 1, step.end_entry);
    count(step.first_kernel, step.end_kernel, made);
    return are_among(wanted, made);
  }

  Kernels kernels_of(const Step& step) const {
    Kernels kernels = before(step.first_entry, step.end_entry);
    count(step.first_kernel, step.end_kernel, kernels);
    return kernels;
  }

  static std::uint64_t sum_of(const Kernels& kernels) {
    std::uint64_t sum = 0;
    for (auto [kernel, times] : kernels) sum += times;
    return sum;
  }

  // By how often they run, and by how many there are: of few kernels that make gradients behind a long
  // forward pass the count alone says little.
  static bool are_among(const Kernels& wanted, const Kernels& made) {
    std::uint64_t all = 0, again = 0;
    std::size_t known_kernels = 0;
    for (auto [kernel, times] : wanted) {
      all += times;
      auto known = made.find(kernel);
      known_kernels += known != made.end();
      again += known == made.end() ? 0 : std::min(times, known->second);
    }
    return all > 0 && static_cast<double>(again) >= kNearlyAll * static_cast<double>(all) &&
           static_cast<double>(known_kernels) >= kMostKernels * static_cast<double>(wanted.size());
  }

  const Collectives& collectives_;
  const RankSteps& rank_;
};

class Unsynced {
 public:
  Unsynced(const model::Job& job, const Collectives& collectives, const RankSteps& rank)
      : job_(job), collectives_(collectives), rank_(rank) {}

  bool is_alone() {
    if (rank_.unreduced.size() < kLeastUpdates || reduces_gradients()) return false;
    for (const auto* steps : {&rank_.steps, &rank_.unreduced})
      for (const Step& step : *steps) updates_.push_back(step.end_ns);
    std::sort(updates_.begin(), updates_.end());
    return !exchanges_steadily();
  }

  std::optional<Unsynchronised> find() {
    if (!is_alone()) return std::nullopt;
    auto model = find_handed_out();
    if (!model) return std::nullopt;
    std::size_t longest = longest_without_exchange(model->values);
    if (longest < std::min(kWithin, updates_.size())) return std::nullopt;
    return Unsynchronised{
        collectives_.calls.form(model->largest).communicator,
        model->largest,
        longest,
        longest < updates_.size(),
        in_most_steps([](const Step& step) { return step.captured; }),
        in_most_steps([&](const Step& step) { return reads_back(step); }) || goes_round_by_host()};
  }

 private:
  struct HandedOut {
    std::uint64_t values = 0;
    std::uint32_t largest = kNone;  // call
  };

  // Metrics are reduced now and then; in several steps running, gradients are.
  bool reduces_gradients() const {
    constexpr std::size_t kRunning = 3;
    const auto& steps = rank_.steps;
    if (rank_.unreduced.size() < kSeldom * steps.size()) return true;
    for (std::size_t i = kRunning - 1; i < steps.size(); ++i)
      if (steps[i].begin_ns == steps[i - 1].end_ns && steps[i - 1].begin_ns == steps[i - 2].end_ns)
        return true;
    return false;
  }

  template <class Visit>
  void for_each_call(Visit&& visit) const {
    for (std::uint32_t call = collectives_.first_of_process[rank_.process];
         call < collectives_.first_of_process[rank_.process + 1]; ++call)
      visit(call, collectives_.calls.form(call));
  }

  // Before the first step, on the communicator through which most went.
  std::optional<HandedOut> find_handed_out() const {
    std::map<std::uint32_t, HandedOut> of_communicators;
    for_each_call([&](std::uint32_t call, const CallForm& form) {
      if (form.signature.operation != Operation::kBroadcast || !model::is_float(form.signature.datatype) ||
          collectives_.communicators[form.communicator].size < 2 ||
          collectives_.calls.begin_ns(call) >= updates_.front())
        return;
      HandedOut& own = of_communicators[form.communicator];
      own.values += form.signature.count;
      bool largest =
          own.largest == kNone || form.signature.count > collectives_.calls.signature(own.largest).count;
      if (largest) own.largest = call;
    });
    std::optional<HandedOut> most;
    for (const auto& [communicator, own] : of_communicators)
      if (own.values >= kLeastValues && (!most || own.values >= most->values)) most = own;
    return most;
  }

  // Gradients may be compressed to few values, and go by other ways than a reduction: to all, or to a
  // neighbour.
  bool exchanges_steadily() const {
    constexpr std::uint64_t kMoreThanMetrics = 64;  // values between two updates
    std::vector<std::uint64_t> values(updates_.size() + 1);
    for_each_call([&](std::uint32_t call, const CallForm& form) {
      values[updates_before(collectives_.calls.begin_ns(call))] += form.signature.count;
    });
    auto steps = std::count_if(values.begin() + 1, values.end(),
                               [](std::uint64_t moved) { return moved > kMoreThanMetrics; });
    return static_cast<std::size_t>(steps) * kSeldom >= updates_.size();
  }

  // Updates in a row. 0 for a job that exchanges something and is too short to tell how often it would.
  std::size_t longest_without_exchange(std::uint64_t handed_out) const {
    std::uint64_t least = std::min(kLeastValues, handed_out / 2);
    std::size_t longest = 0, last = 0;
    bool exchanges = false;
    for_each_call([&](std::uint32_t call, const CallForm& form) {
      std::int64_t ns = collectives_.calls.begin_ns(call);
      if (form.signature.count < least || ns < updates_.front()) return;
      std::size_t before = updates_before(ns);
      longest = std::max(longest, before - last);
      last = before;
      exchanges = true;
    });
    if (exchanges && updates_.size() < kWithin) return 0;
    return std::max(longest, updates_.size() - last);
  }

  template <class Predicate>
  bool in_most_steps(Predicate predicate) const {
    const auto& steps = rank_.unreduced;
    return 2 * static_cast<std::size_t>(std::count_if(steps.begin(), steps.end(), predicate)) > steps.size();
  }

  bool reads_back(const Step& step) const {
    for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i)
      if (rank_.entries[i].kind == Kind::kReadBack) return true;
    return false;
  }

  std::size_t updates_before(std::int64_t ns) const {
    return static_cast<std::size_t>(std::upper_bound(updates_.begin(), updates_.end(), ns) -
                                    updates_.begin());
  }

  // Parameters go down to the host and, between the same two updates, up again, in copies of the same sizes,
  // within every thousand steps. Those of a checkpoint only go down.
  bool goes_round_by_host() const {
    std::map<std::uint64_t, std::size_t> down;  // by size: not up again
    std::size_t between = 0, times = 0;
    std::uint64_t down_bytes = 0, up_bytes = 0;
    auto settle = [&] {
      times += up_bytes >= kLeastValues * sizeof(float) && 2 * up_bytes >= down_bytes;
      down.clear();
      down_bytes = up_bytes = 0;
    };
    for (const StepEntry& entry : rank_.entries) {
      if (entry.kind != Kind::kReadBack && entry.kind != Kind::kInput) continue;
      std::size_t updates = updates_before(entry.begin_ns);
      if (updates != between) settle();
      between = updates;
      if (updates == 0) continue;
      std::uint64_t bytes =
          trace::payload_of<trace::payload::Copy>(job_.record({rank_.process, entry.place})).bytes;
      if (entry.kind == Kind::kReadBack) {
        ++down[bytes];
        down_bytes += bytes;
      } else if (auto found = down.find(bytes); found != down.end() && found->second > 0) {
        --found->second;
        up_bytes += bytes;
      }
    }
    settle();
    return times > updates_.size() / kWithin;
  }

  const model::Job& job_;
  const Collectives& collectives_;
  const RankSteps& rank_;
  std::vector<std::int64_t> updates_;  // of the optimizer
};

// Before the first update.
std::set<std::uint64_t> buffers_handed_out(const Collectives& collectives, const RankSteps& rank) {
  std::set<std::uint64_t> buffers;
  std::int64_t first_ns = rank.steps.front().end_ns;
  if (!rank.unreduced.empty()) first_ns = std::min(first_ns, rank.unreduced.front().end_ns);
  for (std::uint32_t call = collectives.first_of_process[rank.process];
       call < collectives.first_of_process[rank.process + 1]; ++call)
    if (collectives.calls.signature(call).operation == Operation::kBroadcast &&
        collectives.calls.begin_ns(call) < first_ns)
      buffers.insert(collectives.calls.form(call).buffer);
  return buffers;
}

}  // namespace

std::vector<EarlySync> find_early_syncs(const Collectives& collectives, const RankSteps& rank) {
  StepReader reader(collectives, rank);
  std::vector<EarlySync> found;
  for (const Step& step : rank.steps)
    if (auto early = reader.read(step)) found.push_back(*early);
  return found;
}

DoubtfulSyncs find_doubtful_syncs(const Collectives& collectives, const RankSteps& rank) {
  if (rank.steps.empty()) return {};
  StepReader reader(collectives, rank);
  std::size_t all = rank.steps.size() + rank.unreduced.size();
  std::set<std::uint64_t> handed_out = buffers_handed_out(collectives, rank);
  auto behind = static_cast<std::size_t>(std::ranges::count_if(
      rank.steps, [&](const Step& step) { return reader.reduces_at_begin(step, handed_out); }));
  DoubtfulSyncs found;
  found.behind_update = behind >= kLeastUpdates && 2 * behind > all;
  if (rank.unreduced.size() >= rank.steps.size() || rank.steps.back().captured) return found;
  Kernels wanted = reader.reduced_micro_batch(rank.steps.back());
  if (!wanted.empty())
    found.left_out = static_cast<std::size_t>(
        std::ranges::count_if(rank.unreduced, [&](const Step& step) { return reader.runs(step, wanted); }));
  return found;
}

bool trains_alone(const model::Job& job, const Collectives& collectives, const RankSteps& rank) {
  return Unsynced(job, collectives, rank).is_alone();
}

std::optional<Unsynchronised> find_unsynchronised(const model::Job& job, const Collectives& collectives,
                                                  const RankSteps& rank) {
  return Unsynced(job, collectives, rank).find();
}

}  // namespace ddpscope::patterns
