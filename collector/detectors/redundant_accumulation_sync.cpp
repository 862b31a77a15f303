// redundant-accumulation-sync: the same gradients are reduced after every micro-batch of an optimizer step,
// where once, after the last, gives the same result.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "collector/detectors/accumulation_cost.h"
#include "collector/detectors/detector.h"
#include "collector/detectors/story.h"
#include "collector/model/nccl_types.h"

namespace ddpscope::detectors {
namespace {

using matching::CollectiveCall;
using patterns::RankSteps;
using patterns::Step;
using patterns::StepEntry;
using Kind = StepEntry::Kind;
using trace::Operation;

constexpr std::size_t kLearning = 2;  // DDP arranges its buckets anew after the first iteration
constexpr std::size_t kLeastSteps = 3;
constexpr std::uint64_t kLeastBytes = 1024;  // of a set: less is no model's gradient

// A step whose reductions are one set, made `times` times over.
struct Repeated {
  const Step* step;
  std::vector<std::uint32_t> entries;  // of all reductions of the group, into RankSteps::entries
  std::size_t set_size;
  std::size_t times;
};

class StepReader {
 public:
  StepReader(const Facts& facts, const RankSteps& rank) : facts_(facts), rank_(rank) {}

  std::optional<Repeated> read(const Step& step) const;
  const CollectiveCall& call(std::uint32_t entry) const {
    return facts_.collectives.calls[rank_.entries[entry].call];
  }
  // The first of the sets, with the cost of each call.
  ReductionSet pipeline(const Repeated& repeated, const patterns::LinkCost& link) const;

 private:
  std::vector<std::uint32_t> largest_group(const Step& step) const;
  bool same(std::uint32_t a, std::uint32_t b) const;
  std::size_t set_size(const std::vector<std::uint32_t>& entries) const;
  std::size_t count_inputs(std::uint32_t from, std::uint32_t to) const;
  bool backward_between(const Step& step, const Repeated& repeated) const;
  bool intended(const Step& step) const;
  std::uint64_t launches(std::uint32_t from, std::uint32_t to) const;

  const Facts& facts_;
  const RankSteps& rank_;
};

// Reductions of one kind on one communicator; the kind that moves most is the gradients'.
std::vector<std::uint32_t> StepReader::largest_group(const Step& step) const {
  std::map<std::pair<std::uint32_t, Operation>, std::pair<std::uint64_t, std::vector<std::uint32_t>>> groups;
  for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
    if (rank_.entries[i].kind != Kind::kReduction) continue;
    auto& [bytes, entries] = groups[{call(i).communicator, call(i).signature.operation}];
    bytes += matching::bytes_of(call(i).signature);
    entries.push_back(i);
  }
  std::pair<std::uint64_t, std::vector<std::uint32_t>> best;
  for (auto& [key, group] : groups)
    if (group.first > best.first) best = std::move(group);
  return best.second;
}

bool StepReader::same(std::uint32_t a, std::uint32_t b) const {
  return call(a).signature == call(b).signature && call(a).buffer == call(b).buffer;
}

// The shortest beginning of which the whole is a repetition; all of it if there is none.
std::size_t StepReader::set_size(const std::vector<std::uint32_t>& entries) const {
  for (std::size_t size = 1; size <= entries.size() / 2; ++size) {
    if (entries.size() % size != 0) continue;
    bool repeats = true;
    for (std::size_t i = size; repeats && i < entries.size(); ++i)
      repeats = same(entries[i], entries[i - size]);
    if (repeats) return size;
  }
  return entries.size();
}

// Kernels launched before the entries from..to, those before `from` included.
std::uint64_t StepReader::launches(std::uint32_t from, std::uint32_t to) const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = from; i <= to; ++i) sum += rank_.entries[i].launches_before;
  return sum;
}

std::size_t StepReader::count_inputs(std::uint32_t from, std::uint32_t to) const {
  std::size_t inputs = 0;
  for (std::uint32_t i = from; i < to; ++i) inputs += rank_.entries[i].kind == Kind::kInput;
  return inputs;
}

// Each set stands at the end of a micro-batch: an input is loaded for it, and a forward pass comes before it.
// An input may be loaded one micro-batch ahead, but between the beginnings of two sets there is one: two
// passes over the same batch (sharpness-aware minimization) each need their gradients.
bool StepReader::backward_between(const Step& step, const Repeated& repeated) const {
  if (count_inputs(step.first_entry, step.end_entry) < repeated.times) return false;
  for (std::size_t set = 1; set < repeated.times; ++set)
    if (count_inputs(repeated.entries[(set - 1) * repeated.set_size],
                     repeated.entries[set * repeated.set_size]) == 0)
      return false;
  std::uint32_t from = step.first_entry;
  for (std::size_t set = 0; set < repeated.times; ++set) {
    std::uint32_t first = repeated.entries[set * repeated.set_size];
    std::uint32_t last = repeated.entries[(set + 1) * repeated.set_size - 1];
    auto before = static_cast<double>(launches(from, first));
    if (before == 0 || before < patterns::kForwardPart * static_cast<double>(launches(from, last)))
      return false;
    from = last + 1;
  }
  return true;
}

// With find_unused_parameters DDP reduces a map of used parameters, integers, in every backward: there
// accumulating without synchronisation would be wrong, so that every micro-batch reduces on purpose.
bool StepReader::intended(const Step& step) const {
  for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
    if (rank_.entries[i].kind != Kind::kOtherCollective) continue;
    const matching::Signature& signature = call(i).signature;
    if (signature.operation == Operation::kAllReduce && signature.count > 1 &&
        !model::is_float(signature.datatype))
      return true;
  }
  return false;
}

std::optional<Repeated> StepReader::read(const Step& step) const {
  Repeated repeated{&step, largest_group(step), 0, 0};
  if (repeated.entries.empty()) return std::nullopt;
  repeated.set_size = set_size(repeated.entries);
  repeated.times = repeated.entries.size() / repeated.set_size;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < repeated.set_size; ++i)
    bytes += matching::bytes_of(call(repeated.entries[i]).signature);
  if (repeated.times < 2 || bytes < kLeastBytes || intended(step) || !backward_between(step, repeated))
    return std::nullopt;
  return repeated;
}

ReductionSet StepReader::pipeline(const Repeated& repeated, const patterns::LinkCost& link) const {
  std::uint32_t first = repeated.step->first_entry;
  std::uint32_t next_set = repeated.entries[repeated.set_size];
  // Kernels after the set's last reduction stand before the next entry, an input as a rule.
  std::uint32_t end = repeated.entries[repeated.set_size - 1];
  if (end + 1 < next_set) ++end;
  auto all = static_cast<double>(std::max<std::uint64_t>(launches(first, end), 1));
  ReductionSet set;
  for (std::size_t i = 0; i < repeated.set_size; ++i) {
    const CollectiveCall& reduction = call(repeated.entries[i]);
    std::int32_t ranks = facts_.collectives.communicators[reduction.communicator].size;
    set.ready.push_back(static_cast<double>(launches(first, repeated.entries[i])) / all);
    set.duration_ns.push_back(link.of(reduction.signature, ranks));
  }
  return set;
}

// What one rank did in all its steps.
struct Habit {
  const RankSteps* rank;
  std::vector<Repeated> redundant;
  std::size_t judged = 0;

  bool persistent() const { return redundant.size() >= kLeastSteps && 2 * redundant.size() >= judged; }
};

Habit read_habit(const Facts& facts, const RankSteps& rank) {
  Habit habit{&rank, {}, 0};
  StepReader reader(facts, rank);
  for (std::size_t i = kLearning; i < rank.steps.size(); ++i) {
    ++habit.judged;
    if (auto repeated = reader.read(rank.steps[i])) habit.redundant.push_back(std::move(*repeated));
  }
  return habit;
}

// Median over the redundant steps.
double saved_ms(const Facts& facts, const Habit& habit) {
  auto link = patterns::learn_link_cost(facts.job, facts.collectives, facts.device_order);
  if (!link) return 0;
  StepReader reader(facts, *habit.rank);
  std::vector<double> saved;
  for (const Repeated& repeated : habit.redundant) {
    auto step_ns = static_cast<double>(repeated.step->end_ns - repeated.step->begin_ns);
    saved.push_back(saved_ns(reader.pipeline(repeated, *link), static_cast<int>(repeated.times), step_ns));
  }
  auto middle = saved.begin() + static_cast<std::ptrdiff_t>(saved.size() / 2);
  std::nth_element(saved.begin(), middle, saved.end());
  return *middle * 1e-6;
}

void add_evidence(const Facts& facts, const Habit& habit, const Repeated& example,
                  findings::Finding& finding) {
  StepReader reader(facts, *habit.rank);
  constexpr std::size_t kMostSets = 8;
  for (std::size_t set = 0; set < example.times && set < kMostSets; ++set) {
    const CollectiveCall& call = reader.call(example.entries[set * example.set_size]);
    std::string which = set + 1 == example.times ? "the one that is needed"
                                                 : "redundant: the optimizer does not run before the next";
    finding.evidence.push_back(
        evidence_of(facts.job, facts.collectives, call,
                    fmt::format("reduction {} of {} in this step, {} calls, the first {}: {}", set + 1,
                                example.times, example.set_size, matching::to_text(call.signature), which)));
  }
}

void tell(const Facts& facts, const std::vector<Habit>& habits, findings::Outcome& outcome) {
  const Habit& habit = habits.front();
  const Repeated& example = habit.redundant[habit.redundant.size() / 2];
  StepReader reader(facts, *habit.rank);
  const CollectiveCall& first = reader.call(example.entries.front());
  bool sharded = first.signature.operation == Operation::kReduceScatter;
  findings::Finding finding;
  finding.slug = "redundant-accumulation-sync";
  finding.severity = sharded ? findings::Severity::kInfo : findings::Severity::kWarning;
  for (const Habit& each : habits) finding.ranks.push_back(each.rank->rank);
  std::sort(finding.ranks.begin(), finding.ranks.end());
  finding.title = fmt::format("{} {} all gradients {} times per optimizer step where once is enough{}",
                              list_ranks(finding.ranks), verb(finding.ranks, "reduces", "reduce"),
                              example.times, at(facts.places.of(first.event)));
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < example.set_size; ++i)
    bytes += matching::bytes_of(reader.call(example.entries[i]).signature);
  finding.cost.bytes_per_step = bytes * (example.times - 1);
  finding.cost.ms_per_step = saved_ms(facts, habit);
  finding.advice = sharded ? "Reducing in every micro-batch keeps only a shard of the gradients in memory, "
                             "which may be what is wanted; if memory "
                             "allows, switch gradient synchronisation off but for the last micro-batch "
                             "(set_requires_gradient_sync)."
                           : "Let gradients add up locally and reduce them with the last micro-batch only: "
                             "wrap forward and backward of the others "
                             "in DistributedDataParallel.no_sync(), or set require_backward_grad_sync.";
  for (const Habit& each : habits)
    finding.count = std::max<std::uint64_t>(finding.count, each.redundant.size());
  finding.first_ns = habit.redundant.front().step->begin_ns;
  finding.last_ns = habit.redundant.back().step->end_ns;
  finding.place = {finding.ranks, finding.first_ns, finding.last_ns};
  finding.key = fmt::format("{} {}", example.set_size, facts.places.whole(first.event));
  add_evidence(facts, habit, example, finding);
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void detect_redundant_accumulation_sync(const Facts& facts, findings::Outcome& outcome) {
  std::map<std::uint32_t, std::vector<Habit>> by_communicator;
  bool reduced = false, optimized = false;
  for (const RankSteps& rank : facts.steps) {
    optimized = optimized || rank.optimizer_seen;
    reduced = reduced || std::any_of(rank.entries.begin(), rank.entries.end(),
                                     [](const StepEntry& entry) { return entry.kind == Kind::kReduction; });
    Habit habit = read_habit(facts, rank);
    if (!habit.persistent()) continue;
    const CollectiveCall& call =
        facts.collectives.calls[rank.entries[habit.redundant.front().entries.front()].call];
    by_communicator[call.communicator].push_back(std::move(habit));
  }
  for (const auto& [communicator, habits] : by_communicator) tell(facts, habits, outcome);
  if (reduced && !optimized)
    outcome.coverage.push_back({"optimizer steps",
                                "gradients are reduced, but no kernel has the name of an optimizer's update",
                                {"redundant-accumulation-sync"}});
}

}  // namespace ddpscope::detectors
