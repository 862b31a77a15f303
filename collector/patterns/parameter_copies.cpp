// Each rank beside the first: only two ranks' samples are in memory at a time.
#include "collector/patterns/parameter_copies.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "collector/model/time_order.h"
#include "trace/process_groups.h"

namespace ddpscope::patterns {
namespace {

using trace::Call;
using trace::Operation;
namespace payload = trace::payload;

// Parts of the size. Processors of several kinds round differently, and a step of a training moves each
// element by far more than that.
constexpr double kSame = 1e-6, kApart = 1e-5;

double gap(const ParameterSum& a, const ParameterSum& b) {
  if (std::isnan(a.sum) != std::isnan(b.sum)) return HUGE_VAL;
  double size = std::max(a.size, b.size);
  return size > 0 && !std::isnan(a.sum) ? std::abs(a.sum - b.sum) / size : 0;
}

// Of one process, on one communicator.
class Reader {
 public:
  explicit Reader(std::uint32_t communicator) : communicator_(communicator) {}

  void see(model::EventPlace place, const trace::Record& record);
  CopySamples take() { return std::move(result_); }

 private:
  struct Reducer {
    std::size_t number;  // in result_
    std::uint32_t reductions = 0, sampled = 0;
  };

  void reduce(const payload::GroupCollective& call);
  void sample(model::EventPlace place, const payload::ParameterSample& data);

  std::uint32_t communicator_;
  std::map<std::uint64_t, Reducer> reducers_;  // by object, until it is destroyed
  CopySamples result_;
};

void Reader::reduce(const payload::GroupCollective& call) {
  if (!(call.flags & trace::kByReducer) || !call.buffer || call.communicator != communicator_) return;
  auto [found, fresh] = reducers_.try_emplace(call.buffer, Reducer{result_.size()});
  if (fresh) result_.emplace_back();
  ++found->second.reductions;
}

void Reader::sample(model::EventPlace place, const payload::ParameterSample& data) {
  auto found = reducers_.find(data.reducer);
  if (found == reducers_.end()) return;
  Reducer& reducer = found->second;
  if (std::exchange(reducer.sampled, reducer.reductions) == reducer.reductions) return;
  result_[reducer.number].push_back({reducer.reductions,
                                     data.parameters,
                                     data.elements,
                                     {std::bit_cast<double>(data.sum), std::bit_cast<double>(data.size)},
                                     place});
}

void Reader::see(model::EventPlace place, const trace::Record& record) {
  switch (trace::operation_of(record.call)) {
    case Operation::kGroupCollective:
      return reduce(trace::payload_of<payload::GroupCollective>(record));
    case Operation::kParameterSample:
      return sample(place, trace::payload_of<payload::ParameterSample>(record));
    default:
      if (static_cast<Call>(record.call) == Call::reducer_end)
        reducers_.erase(trace::payload_of<payload::TrainingCall>(record).object);
  }
}

CopyCourse compare(const std::vector<CopySample>& a, const std::vector<CopySample>& b) {
  CopyCourse course;
  auto other = b.begin();
  for (const CopySample& one : a) {
    other = std::find_if(other, b.end(), [&](const CopySample& sample) { return sample.step >= one.step; });
    if (other == b.end()) break;
    if (other->step == one.step) course.see(one, *other);
  }
  return course;
}

}  // namespace

CopySamples find_copy_samples(const model::Job& job, const matching::Member& member) {
  constexpr trace::OperationSet kSamples{Operation::kParameterSample};
  constexpr trace::OperationSet kWanted{Operation::kParameterSample, Operation::kGroupCollective,
                                        Operation::kGradientReducer};
  const trace::TraceFile& file = job.processes[member.process].file;
  if (file.count(kSamples) == 0) return {};
  Reader reader(member.number);
  model::for_each_in_time(file, kWanted, [&](model::EventPlace place, const trace::Record& record) {
    reader.see(place, record);
  });
  return reader.take();
}

bool are_alike(const ParameterSum& a, const ParameterSum& b) { return gap(a, b) <= kSame; }

// Copies of models of another shape are none.
void CopyCourse::see(const CopySample& a, const CopySample& b) {
  if (a.parameters != b.parameters || a.elements != b.elements) return;
  if (!apart && are_alike(a.of, b.of)) {
    ++alike;
    last_alike = a.step;
    return;
  }
  bool are = gap(a.of, b.of) > kApart;
  if (!apart && !are) return;
  if (!apart) first_apart = a.step;
  ++after;
  if (!are) return;
  ++apart;
  last_apart = a.step;
}

CopyComparison compare_copies(const model::Job& job, const matching::Communicator& communicator) {
  CopyComparison result;
  CopySamples first;
  std::int32_t first_rank = -1;
  for (const matching::Member& member : communicator.members) {
    if (member.incomplete) continue;
    CopySamples samples = find_copy_samples(job, member);
    if (samples.empty()) continue;
    if (first.empty()) {
      first = std::move(samples);
      first_rank = member.rank;
      continue;
    }
    for (std::size_t reducer = 0; reducer < std::min(first.size(), samples.size()); ++reducer) {
      CopyCourse course = compare(first[reducer], samples[reducer]);
      if (course.is_long_enough()) result.compared.insert({first_rank, member.rank});
      if (!course.parted() || (result.reducer && result.course.first_apart <= course.first_apart)) continue;
      result.reducer = reducer;
      result.course = course;
    }
  }
  return result;
}

}  // namespace ddpscope::patterns
