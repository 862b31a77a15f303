// Waits for small operations give the fixed time, waits for large ones the time a byte.
#include "collector/patterns/link_cost.h"

#include <algorithm>
#include <map>

namespace ddpscope::patterns {
namespace {

using trace::Operation;
using trace::Record;

constexpr double kSmall = 4096, kLarge = 65536;  // moved bytes

// The times at which the process launched kernels: a wait over some of them does not measure the link.
std::vector<std::int64_t> launch_times(const model::Job& job, std::uint32_t process) {
  std::vector<std::int64_t> times;
  model::for_each(
      job.processes[process].file, {Operation::kLaunch},
      [&](model::EventPlace, const Record& record) { times.push_back(job.time_ns(process, record.begin)); });
  std::sort(times.begin(), times.end());
  return times;
}

struct Sample {
  double calls;
  double bytes;
  double ns;
  std::size_t ranks = 1;  // that waited for these calls and nothing else
};

class Learner {
 public:
  Learner(const model::Job& job, const matching::Collectives& collectives,
          const ordering::DeviceOrder& device_order)
      : job_(job), collectives_(collectives), device_order_(device_order) {}

  std::vector<Sample> samples();

 private:
  void add_member(std::uint32_t index, const matching::Member& member);
  void keep_quickest(std::uint32_t communicator, std::uint32_t ordinal, const Sample& sample);
  std::optional<std::int64_t> last_arrival(const matching::Communicator& communicator,
                                           std::uint32_t call) const;
  bool launched_between(std::uint32_t process, std::int64_t from, std::int64_t to);

  const model::Job& job_;
  const matching::Collectives& collectives_;
  const ordering::DeviceOrder& device_order_;
  std::map<std::uint32_t, std::vector<std::int64_t>> launches_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sample> samples_;  // by communicator and first ordinal
};

std::vector<Sample> Learner::samples() {
  for (std::uint32_t c = 0; c < collectives_.communicators.size(); ++c)
    if (collectives_.communicators[c].members.size() > 1)
      for (const matching::Member& member : collectives_.communicators[c].members) add_member(c, member);
  std::vector<Sample> samples;
  for (const auto& [place, sample] : samples_)
    if (sample.ranks == collectives_.communicators[place.first].members.size()) samples.push_back(sample);
  return samples;
}

// Of the ranks that waited for the same calls: the others' hosts were late to see the end.
void Learner::keep_quickest(std::uint32_t communicator, std::uint32_t ordinal, const Sample& sample) {
  auto [known, fresh] = samples_.emplace(std::pair(communicator, ordinal), sample);
  if (fresh || sample.calls != known->second.calls) return;
  ++known->second.ranks;
  known->second.ns = std::min(known->second.ns, sample.ns);
}

bool Learner::launched_between(std::uint32_t process, std::int64_t from, std::int64_t to) {
  auto [found, fresh] = launches_.emplace(process, std::vector<std::int64_t>{});
  if (fresh) found->second = launch_times(job_, process);
  auto first = std::lower_bound(found->second.begin(), found->second.end(), from);
  return first != found->second.end() && *first < to;
}

// When the last rank that this one depends on began to issue the call: that its host was back, much later on
// a busy machine, says nothing of when the operation began.
std::optional<std::int64_t> Learner::last_arrival(const matching::Communicator& communicator,
                                                  std::uint32_t call) const {
  const matching::CallForm& form = collectives_.calls.form(call);
  const matching::Member& own = collectives_.member_of(form);
  std::size_t ordinal = own.calls.place_of(call);
  std::int64_t latest = 0;
  for (const matching::Member& member : communicator.members) {
    if (ordinal >= member.calls.size()) return std::nullopt;
    if (matching::needs(form.signature, own.rank_in_communicator, member.rank_in_communicator))
      latest = std::max(latest, collectives_.begin_ns_at(member, ordinal));
  }
  return latest;
}

void Learner::add_member(std::uint32_t index, const matching::Member& member) {
  const matching::Communicator& communicator = collectives_.communicators[index];
  std::int64_t known_before = 0;  // when the host last knew that all was done
  for (std::size_t i = 0; i < member.calls.size();) {
    std::uint32_t wait = device_order_.completions[member.calls[i]].wait;
    if (wait == matching::kNone) return;
    Sample sample{0, 0, 0};
    auto first = static_cast<std::uint32_t>(i);
    for (; i < member.calls.size() && device_order_.completions[member.calls[i]].wait == wait; ++i) {
      ++sample.calls;
      sample.bytes += moved_bytes(collectives_.signature_at(member, i), communicator.size);
    }
    const ordering::HostWait& waited = device_order_.waits[wait];
    auto start = last_arrival(communicator, member.calls[first]);
    bool alone = !launched_between(member.process, known_before, waited.end_ns);
    known_before = waited.end_ns;
    if (!start || !alone || *start >= waited.end_ns) continue;
    sample.ns = static_cast<double>(waited.end_ns - *start);
    keep_quickest(index, first, sample);
  }
}

// A step holds many calls, whose times add up: the mean counts, with what a busy machine adds now and then.
// Of few samples one that was held up for long would say too much: the sixths at both ends do not count. Far
// beyond the median something else was waited for, which happens once.
double mean(std::vector<double>& values) {
  constexpr double kFar = 20;
  constexpr std::size_t kOneIn = 6;
  std::sort(values.begin(), values.end());
  double limit = kFar * values[values.size() / 2], sum = 0;
  std::size_t off = values.size() / kOneIn;
  for (std::size_t i = off; i < values.size() - off; ++i) sum += std::min(values[i], limit);
  return sum / static_cast<double>(values.size() - 2 * off);
}

}  // namespace

double moved_bytes(const matching::Signature& signature, std::int32_t ranks) {
  auto bytes = static_cast<double>(matching::bytes_of(signature));
  double n = std::max(ranks, 1);
  switch (signature.operation) {
    case Operation::kAllReduce:
      return bytes * 2 * (n - 1) / n;
    case Operation::kAllGather:  // the count is one rank's part
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
      return bytes * (n - 1);
    default:
      return bytes;
  }
}

double LinkCost::of(const matching::Signature& signature, std::int32_t ranks) const {
  return ns_per_call + ns_per_byte * moved_bytes(signature, ranks);
}

std::optional<LinkCost> learn_link_cost(const model::Job& job, const matching::Collectives& collectives,
                                        const ordering::DeviceOrder& device_order) {
  std::vector<Sample> samples = Learner(job, collectives, device_order).samples();
  LinkCost cost;
  std::vector<double> per_call, per_byte;
  for (const Sample& sample : samples)
    if (sample.bytes <= kSmall * sample.calls) per_call.push_back(sample.ns / sample.calls);
  if (per_call.empty()) return std::nullopt;
  // What is added now and then is in few of the calls that one wait covers.
  double per_call_at_best = *std::min_element(per_call.begin(), per_call.end());
  cost.ns_per_call = mean(per_call);
  for (const Sample& sample : samples)
    if (sample.bytes >= kLarge)
      per_byte.push_back(std::max(0.0, sample.ns - sample.calls * per_call_at_best) / sample.bytes);
  if (per_byte.empty()) return std::nullopt;
  cost.ns_per_byte = mean(per_byte);
  return cost;
}

}  // namespace ddpscope::patterns
