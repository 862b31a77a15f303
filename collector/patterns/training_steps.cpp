// One pass over each rank's process.
#include "collector/patterns/training_steps.h"

#include <algorithm>
#include <unordered_map>

#include "collector/model/cuda_types.h"
#include "collector/model/nccl_types.h"
#include "collector/patterns/inputs.h"
#include "collector/patterns/known_launches.h"

namespace ddpscope::patterns {
namespace {

using model::EventPlace;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

constexpr std::uint64_t kLeastReadBack = 1024;  // bytes: losses and flags are smaller

class Finder {
 public:
  Finder(const model::Job& job, const matching::Collectives& collectives, std::uint32_t process,
         RankSteps room)
      : job_(job),
        collectives_(collectives),
        file_(job.processes[process].file),
        process_(process),
        next_call_(collectives.first_of_process[process]),
        result_(std::move(room)) {
    result_.optimizer_seen = false;
    result_.entries.clear();
    result_.kernels.clear();
    result_.steps.clear();
    result_.unreduced.clear();
  }

  RankSteps find(std::size_t most);

 private:
  void take(EventPlace place, const Record& record);
  void take_launch(EventPlace place, const Record& record, std::int64_t at_ns);
  void take_graph(EventPlace place, const Record& record, std::int64_t at_ns);
  void take_update(EventPlace place, std::int64_t at_ns);
  void take_kernel(std::uint64_t stream, KernelRun run);
  void take_copy(EventPlace place, const Record& record, std::int64_t at_ns);
  void take_order(Operation operation, const Record& record);
  void take_capture(const Record& record);
  void take_collective(EventPlace place, std::int64_t at_ns);
  void take_entry(StepEntry::Kind kind, EventPlace place, std::int64_t at_ns,
                  std::uint32_t call = matching::kNone);
  void begin_optimizer(EventPlace place);
  void end_step(bool by_input);
  std::uint32_t call_at(EventPlace place, std::int64_t at_ns);

  const model::Job& job_;
  const matching::Collectives& collectives_;
  const trace::TraceFile& file_;
  std::uint32_t process_;
  std::uint32_t next_call_;  // the first collective that does not begin before the record at hand
  OptimizerUpdates optimizer_{file_};
  Step step_{};
  std::uint64_t launches_ = 0;
  int captures_ = 0;                            // that are open: what is enqueued meanwhile does not run
  bool reduced_ = false;                        // in this step
  bool in_optimizer_ = false;                   // its update is being launched
  std::uint32_t entries_at_update_ = 0;         // that there were at its last launch
  std::uint32_t first_kernel_ = 0;              // since the previous entry, or since the optimizer
  std::uint32_t collective_ = matching::kNone;  // entry of the last one, until a kernel follows it
  std::unordered_map<std::uint64_t, std::uint32_t> recorded_;  // by event: the last collective before it
  std::unordered_map<std::uint64_t, std::uint32_t> awaits_;    // by stream: likewise what it waits for
  RankSteps result_;
};

// Records come in the order in which the collectives stand, but for those that began at one time.
std::uint32_t Finder::call_at(EventPlace place, std::int64_t at_ns) {
  const auto& calls = collectives_.calls;
  std::uint32_t end = collectives_.first_of_process[process_ + 1];
  while (next_call_ < end && calls.begin_ns(next_call_) < at_ns) ++next_call_;
  for (std::uint32_t i = next_call_; i < end && calls.begin_ns(i) == at_ns; ++i)
    if (calls.is_at(i, place)) return i;
  return matching::kNone;
}

// A step ends with the last of the optimizer's launches that follow each other without an input, a reduction
// or a backward pass of PyTorch in between. What other collectives stand between that and an input belongs to
// it (parameters that are handed out); without an input they are those of the next forward pass (parameters
// that are gathered).
void Finder::end_step(bool by_input) {
  step_.end_entry = by_input ? static_cast<std::uint32_t>(result_.entries.size()) : entries_at_update_;
  (reduced_ ? result_.steps : result_.unreduced).push_back(step_);
  step_ = {step_.end_ns, 0, step_.end_entry, 0};
  reduced_ = in_optimizer_ = false;
}

void Finder::begin_optimizer(EventPlace place) {
  step_.optimizer = {place, optimizer_.range()};
  result_.optimizer_seen = in_optimizer_ = true;
  step_.first_kernel = first_kernel_;
  step_.end_kernel = static_cast<std::uint32_t>(result_.kernels.size());
}

void Finder::take_launch(EventPlace place, const Record& record, std::int64_t at_ns) {
  auto launch = trace::payload_of<payload::Launch>(record);
  if (optimizer_.has(record.thread, launch.name))
    take_update(place, at_ns);
  else
    take_kernel(launch.stream,
                {launch.function ? launch.function : launch.name, launch.count, launch.blocks});
}

void Finder::take_graph(EventPlace place, const Record& record, std::int64_t at_ns) {
  auto graph = trace::payload_of<payload::DeviceOrder>(record);
  if (optimizer_.has(record.thread, 0)) return take_update(place, at_ns);
  step_.captured = true;
  take_kernel(graph.stream, {graph.event, graph.count, 0});
}

void Finder::take_update(EventPlace place, std::int64_t at_ns) {
  if (!in_optimizer_) begin_optimizer(place);
  step_.end_ns = at_ns;
  entries_at_update_ = static_cast<std::uint32_t>(result_.entries.size());
  launches_ = 0;
  first_kernel_ = static_cast<std::uint32_t>(result_.kernels.size());
  collective_ = matching::kNone;
}

void Finder::take_kernel(std::uint64_t stream, KernelRun run) {
  launches_ += run.count;
  result_.kernels.push_back(run);
  if (collective_ == matching::kNone) return;
  auto found = awaits_.find(stream);
  result_.entries[collective_].awaited = found != awaits_.end() && found->second == collective_;
  collective_ = matching::kNone;
}

void Finder::take_copy(EventPlace place, const Record& record, std::int64_t at_ns) {
  auto copy = trace::payload_of<payload::Copy>(record);
  if (is_input(copy)) take_entry(StepEntry::Kind::kInput, place, at_ns);
  if (copy.bytes < kLeastReadBack) return;
  if (copy.kind == model::kDeviceToHost) take_entry(StepEntry::Kind::kReadBack, place, at_ns);
  if (copy.kind == model::kDeviceToDevice) take_entry(StepEntry::Kind::kPutAside, place, at_ns);
}

void Finder::take_capture(const Record& record) {
  auto call = static_cast<trace::Call>(record.call);
  bool ends = call == trace::Call::cudaStreamEndCapture || call == trace::Call::cudaStreamEndCapture_ptsz;
  if (ends)
    captures_ = std::max(captures_ - 1, 0);
  else if (trace::payload_of<payload::DeviceOrder>(record).result == 0)
    ++captures_;
}

// An event recorded after the last collective, on its stream, stands for it.
void Finder::take_order(Operation operation, const Record& record) {
  if (collective_ == matching::kNone) return;
  auto order = trace::payload_of<payload::DeviceOrder>(record);
  if (operation == Operation::kEventRecord) {
    if (order.stream == collectives_.calls.form(result_.entries[collective_].call).stream)
      recorded_[order.event] = collective_;
  } else if (auto found = recorded_.find(order.event); found != recorded_.end()) {
    awaits_[order.stream] = found->second;
  }
}

void Finder::take_collective(EventPlace place, std::int64_t at_ns) {
  std::uint32_t call = call_at(place, at_ns);
  if (call == matching::kNone) return;
  bool reduction = is_reduction(collectives_.calls.signature(call));
  take_entry(reduction ? StepEntry::Kind::kReduction : StepEntry::Kind::kOtherCollective, place, at_ns, call);
  collective_ = static_cast<std::uint32_t>(result_.entries.size() - 1);
}

void Finder::take_entry(StepEntry::Kind kind, EventPlace place, std::int64_t at_ns, std::uint32_t call) {
  bool begins = kind == StepEntry::Kind::kInput || kind == StepEntry::Kind::kReduction;
  if (in_optimizer_ && begins) end_step(kind == StepEntry::Kind::kInput);
  reduced_ = reduced_ || kind == StepEntry::Kind::kReduction;
  auto end_kernel = static_cast<std::uint32_t>(result_.kernels.size());
  result_.entries.push_back({at_ns, launches_, first_kernel_, end_kernel, call, place, kind, false});
  first_kernel_ = end_kernel;
  launches_ = 0;
}

void Finder::take(EventPlace place, const Record& record) {
  Operation operation = trace::operation_of(record.call);
  if (OptimizerUpdates::kRanges.has(operation)) return optimizer_.take(record);
  if (operation == Operation::kCapture) return take_capture(record);
  std::int64_t at_ns = job_.time_ns(process_, record.begin);
  if (at_ns < step_.begin_ns || captures_ > 0) return;
  switch (operation) {
    case Operation::kLaunch:
      return take_launch(place, record, at_ns);
    case Operation::kGraphLaunch:
      return take_graph(place, record, at_ns);
    case Operation::kCopy:
      return take_copy(place, record, at_ns);
    case Operation::kFill:
      return take_entry(StepEntry::Kind::kFill, place, at_ns);
    case Operation::kEventRecord:
    case Operation::kStreamWaitEvent:
      return take_order(operation, record);
    case Operation::kBackward:
      if (in_optimizer_) end_step(false);
      return;
    default:
      return take_collective(place, at_ns);
  }
}

constexpr trace::OperationSet kEntries =
    trace::OperationSet::range(Operation::kAllReduce, Operation::kReceive) |
    trace::OperationSet{Operation::kCopy, Operation::kFill};
constexpr trace::OperationSet kKernels{Operation::kLaunch, Operation::kGraphLaunch};
constexpr trace::OperationSet kStepping =
    kEntries | kKernels |
    trace::OperationSet{Operation::kEventRecord, Operation::kStreamWaitEvent, Operation::kCapture,
                        Operation::kBackward};

RankSteps Finder::find(std::size_t most) {
  result_.rank = job_.processes[process_].rank;
  result_.process = process_;
  step_.begin_ns = launches_known_from(job_, process_);
  result_.entries.reserve(file_.count(kEntries));
  result_.kernels.reserve(file_.count(kKernels));
  for (model::TimeOrder order(file_, kStepping | optimizer_.ranges());
       !order.done() && result_.steps.size() + result_.unreduced.size() < most; order.next())
    if (order.record().call) take(order.place(), order.record());
  if (in_optimizer_) end_step(true);
  return std::move(result_);
}

}  // namespace

bool is_reduction(const matching::Signature& signature) {
  bool reduces = signature.operation == Operation::kAllReduce ||
                 signature.operation == Operation::kReduceScatter ||
                 signature.operation == Operation::kReduce;
  return reduces && signature.count > kFewElements && model::is_float(signature.datatype);
}

RankSteps find_steps(const model::Job& job, const matching::Collectives& collectives, std::uint32_t process,
                     RankSteps room, std::size_t most) {
  return Finder(job, collectives, process, std::move(room)).find(most);
}

}  // namespace ddpscope::patterns
