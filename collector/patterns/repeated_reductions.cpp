// What repeats; what stands between the repetitions decides.
#include "collector/patterns/repeated_reductions.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "collector/model/nccl_types.h"
#include "collector/patterns/between_reductions.h"

namespace ddpscope::patterns {
namespace {

using matching::CallForm;
using matching::Signature;
using trace::Operation;
using Kind = StepEntry::Kind;
using Entries = std::vector<std::uint32_t>;

class StepReader {
 public:
  StepReader(const model::Job& job, const matching::Collectives& collectives, const RankSteps& rank)
      : collectives_(collectives), rank_(rank), between_(job, collectives, rank) {}

  RepeatedSet read(const Step& step) const;

 private:
  const CallForm& call(std::uint32_t entry) const {
    return collectives_.calls.form(rank_.entries[entry].call);
  }
  bool on_purpose(const Step& step) const;
  std::map<std::uint32_t, Entries> by_communicator(const Step& step) const;
  RepeatedSet read_communicator(const Step& step, const Entries& all) const;
  std::vector<ReductionClass> repeated_classes(const Entries& all) const;
  RepeatedSet split(const Step& step, const Entries& entries, std::size_t size) const;
  bool input_between(const RepeatedSet& sets, std::size_t set) const;
  bool same_buffers(const RepeatedSet& sets) const;
  bool is_scattered(const RepeatedSet& sets) const {
    return call(sets.entries.front()).signature.operation == trace::Operation::kReduceScatter;
  }

  const matching::Collectives& collectives_;
  const RankSteps& rank_;
  BetweenReductions between_;
};

// With find_unused_parameters DDP reduces a map of used parameters, integers, in every backward: there
// accumulating without synchronisation would be wrong, so that every micro-batch reduces on purpose.
bool StepReader::on_purpose(const Step& step) const {
  for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
    if (rank_.entries[i].kind != Kind::kOtherCollective) continue;
    const Signature& signature = call(i).signature;
    if (signature.operation == Operation::kAllReduce && signature.count > 1 &&
        !model::is_float(signature.datatype))
      return true;
  }
  return false;
}

// What reduces, and the broadcasts that hand out what was reduced to one rank.
std::map<std::uint32_t, Entries> StepReader::by_communicator(const Step& step) const {
  std::map<std::uint32_t, Entries> groups;
  std::unordered_set<std::uint64_t> reduced_to_root;  // buffers
  for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
    const StepEntry& entry = rank_.entries[i];
    if (entry.call == matching::kNone) continue;
    Operation operation = call(i).signature.operation;
    if (operation == Operation::kReduce) reduced_to_root.insert(call(i).buffer);
    bool hands_out = operation == Operation::kBroadcast && reduced_to_root.contains(call(i).buffer);
    if (entry.kind == Kind::kReduction || hands_out) groups[call(i).communicator].push_back(i);
  }
  return groups;
}

bool StepReader::input_between(const RepeatedSet& sets, std::size_t set) const {
  for (std::uint32_t i = sets.first(set); i < sets.first(set + 1); ++i)
    if (rank_.entries[i].kind == Kind::kInput) return true;
  return false;
}

bool StepReader::same_buffers(const RepeatedSet& sets) const {
  for (std::size_t i = sets.set_size; i < sets.entries.size(); ++i)
    if (call(sets.entries[i]).buffer != call(sets.entries[i - sets.set_size]).buffer) return false;
  return true;
}

// The entries cut into sets of so many calls; one of no call if these are not alike.
RepeatedSet StepReader::split(const Step& step, const Entries& entries, std::size_t size) const {
  if (entries.size() % size != 0) return {};
  for (std::size_t i = size; i < entries.size(); ++i)
    if (call(entries[i]).signature != call(entries[i - size]).signature) return {};
  RepeatedSet sets{Repetition::kNone, &step, entries, size, entries.size() / size};
  sets.inputs = true;
  for (std::size_t set = 0; set + 1 < sets.times; ++set)
    sets.inputs = sets.inputs && input_between(sets, set);
  return sets;
}

// Without their buffers, those that are made more than once in some buffer; ascending. Steps are many, and
// their reductions few: sorting them takes no memory for each.
std::vector<ReductionClass> StepReader::repeated_classes(const Entries& all) const {
  std::vector<ReductionClass> made, repeated;
  made.reserve(all.size());
  for (std::uint32_t entry : all) made.push_back(class_of(call(entry)));
  std::sort(made.begin(), made.end());
  for (std::size_t i = 1; i < made.size(); ++i)
    if (made[i] == made[i - 1]) repeated.push_back(in_any_buffer(made[i]));
  return repeated;
}

// Calls that are made once are metrics or, if nothing else is made, in buffers that change. With an input for
// each set buffers may take turns; without, those of reduce-scatters may be of several models, and other
// reductions in buffers that change are activations.
RepeatedSet StepReader::read_communicator(const Step& step, const Entries& all) const {
  std::vector<ReductionClass> repeated = repeated_classes(all);
  Entries entries;
  std::copy_if(all.begin(), all.end(), std::back_inserter(entries), [&](std::uint32_t entry) {
    return std::binary_search(repeated.begin(), repeated.end(), in_any_buffer(class_of(call(entry))));
  });
  bool own_buffers = entries.empty();
  if (own_buffers) entries = all;
  RepeatedSet doubtful;
  std::size_t least = 0;  // several doubtful sets at a time are no better
  for (std::size_t size = 1; size <= entries.size() / 2; ++size) {
    if (least && size % least == 0) continue;
    RepeatedSet sets = split(step, entries, size);
    if (sets.times < 2 || between_.bytes(sets) < kLeastGradientBytes) continue;
    const bool other_buffers = !sets.inputs && !same_buffers(sets);
    if (other_buffers && !is_scattered(sets)) continue;
    if (!between_.behind_forward(sets)) continue;
    sets.repetition = own_buffers || other_buffers ? Repetition::kOtherBuffers : between_.judge(sets);
    if (sets.repetition == Repetition::kRedundant) return sets;
    if (doubtful.repetition == Repetition::kNone) doubtful = std::move(sets), least = size;
  }
  return doubtful;
}

RepeatedSet StepReader::read(const Step& step) const {
  RepeatedSet best;
  if (on_purpose(step)) return best;
  auto weight = [&](const RepeatedSet& sets) {
    return std::pair(sets.repetition == Repetition::kRedundant, between_.bytes(sets));
  };
  for (const auto& [communicator, entries] : by_communicator(step)) {
    RepeatedSet sets = read_communicator(step, entries);
    if (sets.repetition != Repetition::kNone && weight(best) < weight(sets)) best = std::move(sets);
  }
  bool told = best.repetition == Repetition::kNone || best.repetition == Repetition::kRedundant;
  if (step.captured && told) best.repetition = Repetition::kCaptured;
  return best;
}

}  // namespace

const char* reason_of(Repetition repetition) {
  switch (repetition) {
    case Repetition::kFollowed:
      return "reductions repeat in every micro-batch, but kernels run between them and the next input: the "
             "rest "
             "of a backward pass (then activations were reduced), or a use of the gradients (another "
             "optimizer, a step skipped for overflow, clipping)";
    case Repetition::kExtraKernels:
      return "reductions repeat, but between two of them kernels run that do not run before the first: "
             "they may use the gradients (another optimizer, a line search, a second pass over a batch)";
    case Repetition::kReadBack:
      return "reductions repeat, but the host reads data back in between: it may use the gradients";
    case Repetition::kPutAside:
      return "reductions repeat, but what each gives is copied to a place of its own: it may be used by "
             "itself "
             "(gradients of several tasks, or of single batches)";
    case Repetition::kActivations:
      return "reductions repeat, but they may be activations of tensor-parallel ranks: summed, and all of "
             "one "
             "size or awaited at once";
    case Repetition::kOthersBeside:
      return "reductions repeat, but others of some size, made once a step, may be those of the gradients";
    case Repetition::kOtherBuffers:
      return "alike reductions are made several times a step, each in a buffer of its own: micro-batches of "
             "one model, or several models";
    default:
      return "";
  }
}

std::vector<RepeatedSet> find_repeated_reductions(const model::Job& job,
                                                  const matching::Collectives& collectives,
                                                  const RankSteps& rank) {
  StepReader reader(job, collectives, rank);
  std::vector<RepeatedSet> sets;
  for (const Step& step : rank.steps) sets.push_back(reader.read(step));
  return sets;
}

std::uint64_t count_launches(const RankSteps& rank, std::uint32_t from, std::uint32_t to) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = from; i <= to; ++i) sum += rank.entries[i].launches_before;
  return sum;
}

}  // namespace ddpscope::patterns
