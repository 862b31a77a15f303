// One pass over a process, in the order in which calls began.
#include "collector/patterns/framework_steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "collector/matching/collectives.h"
#include "trace/process_groups.h"

namespace ddpscope::patterns {
namespace {

using model::EventPlace;
using trace::Call;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

class Reader {
 public:
  Reader(const model::Job& job, std::uint32_t process) : job_(job), process_(process) {}

  FrameworkSteps read() {
    constexpr trace::OperationSet kRecords{Operation::kBackward,      Operation::kGradientReducer,
                                           Operation::kOptimizerStep, Operation::kZeroGradients,
                                           Operation::kForward,       Operation::kGroupCollective,
                                           Operation::kProcessGroup};
    model::for_each_in_time(job_.processes[process_].file, kRecords,
                            [&](EventPlace place, const Record& record) { take(place, record); });
    if (overlap_) return {};
    result_.reducers = static_cast<std::uint32_t>(reducers_.size());
    return std::move(result_);
  }

 private:
  void take(EventPlace place, const Record& record);
  void begin_pass(EventPlace place, const Record& record);
  void end_step(EventPlace place, const Record& record);
  BackwardPass* pass_at(std::int64_t at_ns);

  const model::Job& job_;
  std::uint32_t process_;
  FrameworkSteps result_;
  std::vector<BackwardPass> passes_;  // since the last step, or zero_grad
  std::set<std::uint64_t> reducers_;
  std::map<std::uint32_t, std::int32_t> group_sizes_;  // by its number in the process
  bool forward_ = false;                               // of the wrapper, since the last pass
  bool overlap_ = false;
};

// The last one, if it is under way at that moment.
BackwardPass* Reader::pass_at(std::int64_t at_ns) {
  return passes_.empty() || passes_.back().end_ns < at_ns ? nullptr : &passes_.back();
}

void Reader::begin_pass(EventPlace place, const Record& record) {
  auto data = trace::payload_of<payload::TrainingCall>(record);
  if (!(data.flags & trace::kAccumulate) || data.result) return;
  std::int64_t begin_ns = job_.begin_ns(process_, record);
  overlap_ = overlap_ || pass_at(begin_ns) != nullptr;
  BackwardPass pass{{process_, place}, begin_ns, job_.end_ns(process_, record), {}};
  pass.through_wrapper = forward_;
  forward_ = false;
  passes_.push_back(std::move(pass));
}

void Reader::end_step(EventPlace place, const Record& record) {
  if (passes_.empty()) return;  // a second optimizer
  std::int64_t begin_ns = passes_.front().begin_ns;
  result_.steps.push_back({{process_, place}, begin_ns, job_.begin_ns(process_, record), std::move(passes_)});
  passes_.clear();
}

void Reader::take(EventPlace place, const Record& record) {
  switch (trace::operation_of(record.call)) {
    case Operation::kBackward:
      return begin_pass(place, record);
    case Operation::kOptimizerStep:
      return end_step(place, record);
    case Operation::kZeroGradients:
      return passes_.clear();
    case Operation::kForward:
      forward_ = true;
      return;
    case Operation::kProcessGroup: {
      auto data = trace::payload_of<payload::ProcessGroup>(record);
      group_sizes_[data.communicator] = data.size;
      return;
    }
    default:
      break;
  }
  BackwardPass* pass = pass_at(job_.begin_ns(process_, record));
  if (record.call == static_cast<std::uint16_t>(Call::reducer_finish)) {
    auto data = trace::payload_of<payload::TrainingCall>(record);
    if (!pass || data.result) return;
    reducers_.insert(data.object);
    auto at = std::lower_bound(pass->reduced.begin(), pass->reduced.end(), data.object);
    if (at == pass->reduced.end() || *at != data.object) pass->reduced.insert(at, data.object);
  } else if (record.call == static_cast<std::uint16_t>(Call::c10d_allreduce)) {
    auto data = trace::payload_of<payload::GroupCollective>(record);
    if (pass && (data.flags & trace::kByReducer) && group_sizes_[data.communicator] > 1)
      pass->bytes +=
          matching::bytes_of({Operation::kAllReduce, data.datatype, data.reduction, -1, data.count});
  }
}

}  // namespace

std::vector<FrameworkSteps> find_framework_steps(const model::Job& job) {
  std::vector<FrameworkSteps> steps;
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    steps.push_back(Reader(job, process).read());
  return steps;
}

}  // namespace ddpscope::patterns
