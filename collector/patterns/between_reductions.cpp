// In the order in which the sets are asked.
#include "collector/patterns/between_reductions.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "collector/model/nccl_types.h"

namespace ddpscope::patterns {
namespace {

using matching::CallForm;
using matching::Signature;
using trace::Operation;
using Kind = StepEntry::Kind;

constexpr std::uint64_t kLargeBeside = 10;  // the set's bytes over those of what is reduced fewer times
// A kernel of one block, 1024 threads at most, updates no more elements than this.
constexpr std::uint64_t kOneBlocksWork = 65'536;
constexpr double kWholeMicroBatch = 0.8;  // after an optimizer its clean-up precedes the first

}  // namespace

ReductionClass class_of(const CallForm& call) {
  return {call.signature.operation, call.signature.datatype, call.signature.count, call.buffer};
}

ReductionClass in_any_buffer(ReductionClass reduction) {
  std::get<3>(reduction) = 0;
  return reduction;
}

template <class Visit>
bool BetweenReductions::for_each_kernel(std::uint32_t from, std::uint32_t to, Visit&& visit) const {
  for (std::uint32_t i = from; i <= to; ++i)
    for (std::uint32_t k = rank_.entries[i].first_kernel; k < rank_.entries[i].end_kernel; ++k)
      if (!visit(rank_.kernels[k])) return false;
  return true;
}

BetweenReductions::BetweenReductions(const model::Job& job, const matching::Collectives& collectives,
                                     const RankSteps& rank)
    : job_(job), collectives_(collectives), rank_(rank) {
  for (const Step& step : rank.steps) {
    bool any_large = false;
    for (std::uint32_t i = step.first_entry; i < step.end_entry && !any_large; ++i)
      any_large = rank.entries[i].kind == Kind::kReduction && !is_small(i);
    for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
      for_each_kernel(i, i, [&](const KernelRun& run) { return before_first_.insert(run.kernel), true; });
      if (rank.entries[i].kind == Kind::kReduction && !(any_large && is_small(i))) break;
    }
  }
}

std::uint64_t BetweenReductions::bytes(const RepeatedSet& sets) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < sets.set_size; ++i) sum += matching::bytes_of(call(sets.entries[i]).signature);
  return sum;
}

// A reduce-scatter is told by what one rank gets.
std::uint64_t BetweenReductions::elements(const RepeatedSet& sets) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < sets.set_size; ++i) {
    const CallForm& reduction = call(sets.entries[i]);
    bool scattered = reduction.signature.operation == Operation::kReduceScatter;
    sum +=
        reduction.signature.count * (scattered ? collectives_.communicators[reduction.communicator].size : 1);
  }
  return sum;
}

// The most calls at the beginning of a set that stand before the forward pass can be over, or are losses that
// are reduced before the backward pass; all, if no kernel or no forward pass precedes some set.
std::size_t BetweenReductions::calls_in_forward(const RepeatedSet& sets) const {
  std::size_t most = 0;
  while (most < sets.set_size && is_small(sets.entries[most])) ++most;
  if (most == sets.set_size) most = 0;  // gradients of small layers
  std::uint32_t from = sets.step->first_entry;
  for (std::size_t set = 0; set < sets.times; ++set) {
    auto all = static_cast<double>(count_launches(rank_, from, sets.last(set)));
    std::size_t i = 0;
    for (; i < sets.set_size; ++i) {
      auto before = static_cast<double>(count_launches(rank_, from, sets.entries[set * sets.set_size + i]));
      if (before > 0 && before >= kForwardPart * all) break;
    }
    most = std::max(most, i);
    from = sets.last(set) + 1;
  }
  return most;
}

// Kernels before the first of these calls in the step that launches the fewest: others may evaluate, too.
std::uint64_t BetweenReductions::least_before(const RepeatedSet& sets) const {
  // Buffers may take turns.
  auto kind = [&](std::uint32_t entry) { return in_any_buffer(class_of(call(entry))); };
  ReductionClass wanted = kind(sets.first(0));
  auto [known, fresh] = least_before_.emplace(wanted, std::numeric_limits<std::uint64_t>::max());
  if (!fresh) return known->second;
  for (const Step& step : rank_.steps)
    for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i)
      if (rank_.entries[i].call != matching::kNone && kind(i) == wanted) {
        known->second = std::min(known->second, count_launches(rank_, step.first_entry, i));
        break;
      }
  return known->second;
}

bool BetweenReductions::behind_forward(RepeatedSet& sets) const {
  std::size_t lead = calls_in_forward(sets);
  if (lead == sets.set_size) return false;
  if (lead > 0) {
    RepeatedSet rest{Repetition::kNone, sets.step, {}, sets.set_size - lead, sets.times, sets.inputs};
    for (std::size_t i = 0; i < sets.entries.size(); ++i)
      if (i % sets.set_size >= lead) rest.entries.push_back(sets.entries[i]);
    if (kLargeBeside * (bytes(sets) - bytes(rest)) > bytes(rest)) return false;
    sets = std::move(rest);
  }
  auto wanted = kWholeMicroBatch * static_cast<double>(least_before(sets));
  for (std::size_t set = 0; set + 1 < sets.times; ++set)
    if (static_cast<double>(count_launches(rank_, sets.last(set) + 1, sets.first(set + 1))) < wanted)
      return false;
  return true;
}

std::uint64_t BetweenReductions::bytes_of_others(const RepeatedSet& sets) const {
  std::map<std::pair<std::uint32_t, ReductionClass>, std::pair<std::size_t, std::uint64_t>> classes;
  for (std::uint32_t i = sets.step->first_entry; i < sets.step->end_entry; ++i) {
    if (rank_.entries[i].kind != Kind::kReduction) continue;
    auto& [times, bytes] = classes[{call(i).communicator, class_of(call(i))}];
    ++times;
    bytes += matching::bytes_of(call(i).signature);
  }
  for (std::uint32_t i : sets.entries) classes.erase({call(i).communicator, class_of(call(i))});
  std::uint64_t sum = 0;
  for (const auto& [key, made] : classes)
    if (made.first < sets.times) sum += made.second;
  return sum;
}

// DDP hands out rank 0's parameters on the communicator that will reduce their gradients; optimizers' states
// and buffers may go along.
std::optional<std::uint16_t> BetweenReductions::thread_that_broadcast(const RepeatedSet& sets) const {
  constexpr std::uint64_t kWithStates = 4;
  const CallForm& first = call(sets.entries.front());
  std::uint64_t sum = 0;
  std::uint16_t thread = 0;
  for (std::uint32_t i : collectives_.member_of(first).calls) {
    if (collectives_.calls.begin_ns(i) >= rank_.steps.front().end_ns) break;
    const CallForm& other = collectives_.calls.form(i);
    if (other.signature.operation != Operation::kBroadcast || !model::is_float(other.signature.datatype))
      continue;
    sum += other.signature.count;
    thread = other.thread;
  }
  if (sum < elements(sets) || sum > kWithStates * elements(sets)) return std::nullopt;
  return thread;
}

// Nothing if it is issued by several.
std::optional<std::uint16_t> BetweenReductions::thread_of_set(const RepeatedSet& sets) const {
  const std::uint16_t thread = call(sets.first(0)).thread;
  for (std::size_t i = 1; i < sets.set_size; ++i)
    if (call(sets.entries[i]).thread != thread) return std::nullopt;
  return thread;
}

// Activations have one size, or what follows waits for them. What follows waits for each bucket of PyTorch's
// process group "nccl2", too: its parameters were handed out in the program's thread, and its gradients are
// reduced in the thread of the backward pass alone. Activations are reduced in both passes.
bool BetweenReductions::may_be_activations(const RepeatedSet& sets) const {
  if (sets.set_size == 1) return false;
  const std::uint64_t size = call(sets.first(0)).signature.count;
  bool one_size = true, awaited = count_launches(rank_, sets.first(0) + 1, sets.last(0)) > 0;
  for (std::size_t i = 0; i < sets.set_size; ++i) {
    one_size = one_size && call(sets.entries[i]).signature.count == size;
    bool used = i + 1 < sets.set_size && count_launches(rank_, sets.entries[i] + 1, sets.entries[i + 1]) > 0;
    awaited = awaited && (!used || rank_.entries[sets.entries[i]].awaited);
  }
  if (!awaited && !one_size) return false;
  const std::optional<std::uint16_t> broadcast_by = thread_that_broadcast(sets),
                                     reduced_by = thread_of_set(sets);
  if (!broadcast_by) return true;
  if (awaited) return !reduced_by || reduced_by == broadcast_by;
  return !reduced_by;
}

bool BetweenReductions::cleared(const RepeatedSet& sets, std::size_t set) const {
  for (std::uint32_t i = sets.first(set); i < sets.first(set + 1); ++i) {
    if (rank_.entries[i].kind != Kind::kFill) continue;
    auto fill = trace::payload_of<trace::payload::Copy>(job_.record({rank_.process, rank_.entries[i].place}));
    for (std::size_t k = 0; k < sets.set_size; ++k) {
      const CallForm& reduction = call(sets.entries[set * sets.set_size + k]);
      if (fill.destination < reduction.buffer + matching::bytes_of(reduction.signature) &&
          reduction.buffer < fill.destination + fill.bytes)
        return true;
    }
  }
  return false;
}

bool BetweenReductions::read_back(const RepeatedSet& sets, std::size_t set) const {
  for (std::uint32_t i = sets.last(set); i < sets.first(set + 1); ++i)
    if (rank_.entries[i].kind == Kind::kReadBack) return true;
  return false;
}

// Where what a set reduced is copied to before the next set, or before the optimizer.
std::vector<std::uint64_t> BetweenReductions::copied_to(const RepeatedSet& sets, std::size_t set) const {
  std::uint32_t end = set + 1 < sets.times ? sets.first(set + 1) : sets.step->end_entry;
  std::vector<std::uint64_t> places;
  for (std::uint32_t i = sets.first(set); i < end; ++i) {
    if (rank_.entries[i].kind != Kind::kPutAside) continue;
    auto copy = trace::payload_of<trace::payload::Copy>(job_.record({rank_.process, rank_.entries[i].place}));
    for (std::size_t k = 0; k < sets.set_size; ++k) {
      const CallForm& reduction = call(sets.entries[set * sets.set_size + k]);
      if (copy.source >= reduction.buffer &&
          copy.source < reduction.buffer + matching::bytes_of(reduction.signature))
        places.push_back(copy.destination);
    }
  }
  std::sort(places.begin(), places.end());
  return places;
}

// Kept apart from what the next set reduces. What is copied to the same places each time, from a bucket to
// the gradients, adds up.
bool BetweenReductions::put_aside(const RepeatedSet& sets, std::size_t set) const {
  std::vector<std::uint64_t> places = copied_to(sets, set);
  if (places.empty()) return false;
  std::vector<std::uint64_t> next = copied_to(sets, set + 1);
  return !std::includes(next.begin(), next.end(), places.begin(), places.end());
}

// Losses and metrics are added up by a single block; that is no use of gradients.
bool BetweenReductions::negligible(const RepeatedSet& sets, const KernelRun& run) const {
  return run.blocks == 1 && elements(sets) > kOneBlocksWork;
}

// The one kernel that runs once behind each reduction of a set but the last, as one that turns sums into
// means; 0 for none.
std::uint64_t BetweenReductions::kernel_behind_each(const RepeatedSet& sets, std::size_t set) const {
  std::uint64_t kernel = 0;
  for (std::size_t i = 1; i < sets.set_size; ++i) {
    std::uint32_t from = sets.entries[set * sets.set_size + i - 1] + 1;
    std::uint32_t to = sets.entries[set * sets.set_size + i];
    bool same = count_launches(rank_, from, to) == 1 && for_each_kernel(from, to, [&](const KernelRun& run) {
                  return i == 1 ? (kernel = run.kernel, true) : run.kernel == kernel;
                });
    if (!same) return 0;
  }
  return kernel;
}

std::uint32_t BetweenReductions::input_behind(const RepeatedSet& sets, std::size_t set) const {
  std::uint32_t input = sets.last(set) + 1;
  while (input < sets.first(set + 1) && rank_.entries[input].kind != Kind::kInput) ++input;
  return input;
}

// Kernels between a set and the next input.
bool BetweenReductions::followed(const RepeatedSet& sets, std::size_t set) const {
  std::uint64_t mean = kernel_behind_each(sets, set);
  return !for_each_kernel(sets.last(set) + 1, input_behind(sets, set), [&](const KernelRun& run) {
    bool of_set = mean != 0 && run.kernel == mean && run.count == 1;
    mean = of_set ? 0 : mean;
    return of_set || negligible(sets, run);
  });
}

// Kernels in the forward pass behind the input that no step runs before its first set. Later ones, of the
// backward pass, add gradients up.
bool BetweenReductions::begins_otherwise(const RepeatedSet& sets, std::size_t set) const {
  auto all = static_cast<double>(count_launches(rank_, sets.last(set) + 1, sets.last(set + 1)));
  double seen = 0;
  bool otherwise = false;
  for_each_kernel(input_behind(sets, set) + 1, sets.first(set + 1), [&](const KernelRun& run) {
    otherwise = !before_first_.contains(run.kernel) && !negligible(sets, run);
    seen += run.count;
    return !otherwise && seen < kForwardPart * all;
  });
  return otherwise;
}

// Kernels between two sets that do not run before the first, or not as often; or but one: forward and
// backward pass have different ones.
bool BetweenReductions::more_kernels(const RepeatedSet& sets, std::size_t set) const {
  std::unordered_map<std::uint64_t, std::uint64_t> left;
  for_each_kernel(sets.step->first_entry, sets.first(0),
                  [&](const KernelRun& run) { return left[run.kernel] += run.count, true; });
  std::unordered_set<std::uint64_t> seen;
  bool as_before = for_each_kernel(sets.last(set) + 1, sets.first(set + 1), [&](const KernelRun& run) {
    seen.insert(run.kernel);
    std::uint64_t& of_this = left[run.kernel];
    if (of_this < run.count) return negligible(sets, run);
    of_this -= run.count;
    return true;
  });
  return !as_before || seen.size() < 2;
}

Repetition BetweenReductions::judge_gap(const RepeatedSet& sets, std::size_t set) const {
  if (read_back(sets, set)) return Repetition::kReadBack;
  if (put_aside(sets, set)) return Repetition::kPutAside;
  if (!sets.inputs) return more_kernels(sets, set) ? Repetition::kExtraKernels : Repetition::kRedundant;
  if (followed(sets, set)) return Repetition::kFollowed;
  return begins_otherwise(sets, set) ? Repetition::kExtraKernels : Repetition::kRedundant;
}

Repetition BetweenReductions::judge(const RepeatedSet& sets) const {
  for (std::size_t set = 0; set + 1 < sets.times; ++set)
    if (cleared(sets, set)) return Repetition::kNone;
  std::uint64_t others = bytes_of_others(sets);
  if (others >= bytes(sets)) return Repetition::kNone;  // the gradients are those
  if (kLargeBeside * others > bytes(sets)) return Repetition::kOthersBeside;
  if (may_be_activations(sets)) return Repetition::kActivations;
  for (std::size_t set = 0; set + 1 < sets.times; ++set)
    if (Repetition doubt = judge_gap(sets, set); doubt != Repetition::kRedundant) return doubt;
  return Repetition::kRedundant;
}

}  // namespace ddpscope::patterns
