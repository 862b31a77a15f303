// Merges a process's collectives with its calls on streams and events.
#include "collector/ordering/device_replay.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "collector/model/cuda_types.h"
#include "collector/ordering/work_events.h"

namespace ddpscope::ordering {
namespace {

using model::Job;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

constexpr trace::OperationSet kOrdering =
    trace::OperationSet::range(Operation::kDeviceWait, Operation::kStreamCreate) |
    trace::OperationSet{Operation::kCopy, Operation::kCommunicatorEnd, Operation::kCapture};
constexpr std::uint32_t kNonBlockingStream = 1;  // cudaStreamNonBlocking

// What only enqueues returns at once, so an asynchronous copy that has not returned waits for its stream: the
// host's memory is pageable.
bool may_wait(const Record& copy) { return copy.end == 0 || is_synchronous_copy(copy.call); }

class Replay {
 public:
  Replay(const Job& job, const matching::Collectives& collectives, std::uint32_t process,
         DeviceEvents& events)
      : job_(job),
        collectives_(collectives),
        process_(process),
        events_(events),
        host_calls_(job.processes[process].file, kOrdering),
        works_(job, process) {}

  void run() {
    collect_enqueued();
    for (std::uint32_t number : enqueued_) {
      apply_until(collectives_.calls.enqueue_ns(number));
      enqueue(number);
    }
    apply_until(std::numeric_limits<std::int64_t>::max());
  }

 private:
  void collect_enqueued();
  void apply_until(std::int64_t ns);
  void enqueue(std::uint32_t number);
  void apply(const HostCall& host_call);
  void apply_capture(const Record& record);
  void apply_copy(const HostCall& host_call);
  void apply_end(const HostCall& host_call);
  void apply_query(HostCall host_call, const payload::DeviceOrder& query, bool done);

  const Job& job_;
  const matching::Collectives& collectives_;
  std::uint32_t process_;
  DeviceEvents& events_;
  model::TimeOrder host_calls_;
  trace::Table<std::uint32_t> enqueued_;  // collectives, by enqueue_ns
  Streams streams_;
  WorkEvents works_;
  int captures_ = 0;  // that are open: meanwhile events stand in graphs
  std::map<std::uint32_t, Cover>
      of_communicators_;  // by number in the process: what its collectives come after
  Cover cover_;           // room that is used again
};

void Replay::apply_until(std::int64_t ns) {
  for (; !host_calls_.done(); host_calls_.next()) {
    const Record& record = host_calls_.record();
    Operation operation = trace::operation_of(record.call);
    HostCall call{job_.time_ns(process_, record.begin), &record, host_calls_.place(), operation};
    if (call.begin_ns > ns) return;
    if (operation != Operation::kCopy || may_wait(record)) apply(call);
  }
}

void Replay::collect_enqueued() {
  std::uint32_t first = collectives_.first_of_process[process_];
  enqueued_.resize(collectives_.first_of_process[process_ + 1] - first);
  std::iota(enqueued_.begin(), enqueued_.end(), first);
  auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    return collectives_.calls.enqueue_ns(a) < collectives_.calls.enqueue_ns(b);
  };
  if (!std::is_sorted(enqueued_.begin(), enqueued_.end(), earlier))
    std::stable_sort(enqueued_.begin(), enqueued_.end(), earlier);
}

void Replay::enqueue(std::uint32_t number) {
  const matching::CallForm& call = collectives_.calls.form(number);
  StreamNumber stream = streams_.find(call.stream, call.device, call.thread);
  streams_.cover_of(stream, cover_);
  events_.enqueued(number, stream, cover_);
  Cover& own = of_communicators_[collectives_.member_of(call).number];
  if (own.size() <= stream) own.resize(stream + 1);
  own[stream] = streams_.enqueue_collective(stream);
}

void Replay::apply(const HostCall& host_call) {
  if (host_call.operation == Operation::kCopy) return apply_copy(host_call);
  if (host_call.operation == Operation::kCommunicatorEnd) return apply_end(host_call);
  const Record& record = *host_call.record;
  if (host_call.operation == Operation::kCapture) return apply_capture(record);
  auto call = trace::payload_of<payload::DeviceOrder>(record);
  bool done = record.end != 0 && call.result == 0;
  auto stream = [&] { return streams_.find(call.stream, call.device, record.thread); };
  switch (host_call.operation) {
    case Operation::kStreamCreate:
      return streams_.create(call.stream, call.device, !(call.flags & kNonBlockingStream));
    case Operation::kEventRecord:
      if (captures_ > 0) return;
      works_.recorded(call.event, record.thread, host_call.begin_ns, streams_.device_of(stream()));
      return streams_.record_event(call.event, stream());
    case Operation::kStreamWaitEvent:
      if (captures_ > 0) return;
      return streams_.wait_for_event(stream(), call.event);
    case Operation::kDeviceWait:
      return events_.waited(host_call, streams_.cover_of_device(call.device), done);
    case Operation::kStreamWait:
    case Operation::kStreamQuery:
      streams_.cover_of(stream(), cover_);
      return events_.waited(host_call, cover_, done);
    case Operation::kEventQuery:
      return apply_query(host_call, call, done);
    case Operation::kEventWait:
      return events_.waited(host_call, streams_.cover_of_event(call.event), done);
    default:
      return;
  }
}

void Replay::apply_query(HostCall host_call, const payload::DeviceOrder& query, bool done) {
  Asked asked = works_.asked(query.event, host_call.record->thread, host_call.begin_ns, query.device, done);
  if (done && asked != Asked::kWaits) streams_.all_wait_for_event(works_.device_of(query.event), query.event);
  if (asked == Asked::kStreamWaits) return;
  host_call.by_luck = asked == Asked::kMayWait;
  events_.waited(host_call, streams_.cover_of_event(query.event), done);
}

void Replay::apply_capture(const Record& record) {
  auto call = static_cast<trace::Call>(record.call);
  bool ends = call == trace::Call::cudaStreamEndCapture || call == trace::Call::cudaStreamEndCapture_ptsz;
  auto result = trace::payload_of<payload::DeviceOrder>(record).result;
  if (ends)
    captures_ = std::max(captures_ - 1, 0);
  else if (result == 0)
    ++captures_;
}

// It runs in the legacy stream; from device to device the host does not wait.
void Replay::apply_copy(const HostCall& host_call) {
  const Record& record = *host_call.record;
  auto copy = trace::payload_of<payload::Copy>(record);
  if (copy.kind == model::kDeviceToDevice) return;
  bool done = record.end != 0 && copy.result == 0;
  StreamNumber stream = streams_.find(copy.stream, copy.device, record.thread);
  streams_.cover_of(stream, cover_);
  events_.waited(host_call, cover_, done);
}

// Finalizing a communicator waits for its operations, unless it is a non-blocking one; to destroy one that
// was not finalized does both. Source: NCCL's documentation of ncclCommFinalize and ncclCommDestroy.
void Replay::apply_end(const HostCall& host_call) {
  auto call = trace::payload_of<payload::CommunicatorCall>(*host_call.record);
  auto known = of_communicators_.find(call.communicator);
  bool done = host_call.record->end != 0 && call.status == 0 && call.result == 0;
  if (known != of_communicators_.end()) events_.waited(host_call, known->second, done);
}

}  // namespace

void replay_device(const Job& job, const matching::Collectives& collectives, std::uint32_t process,
                   DeviceEvents& events) {
  Replay(job, collectives, process, events).run();
}

bool is_synchronous_copy(std::uint16_t call) {
  switch (static_cast<trace::Call>(call)) {
    case trace::Call::cudaMemcpy:
    case trace::Call::cudaMemcpy2D:
    case trace::Call::cudaMemcpy3D:
    case trace::Call::cudaMemcpyFromSymbol:
    case trace::Call::cudaMemcpyFromArray:
    case trace::Call::cudaMemcpy2DFromArray:
      return true;
    default:
      return false;
  }
}

}  // namespace ddpscope::ordering
