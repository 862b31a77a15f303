// Merges a process's collectives with its calls on streams and events.
#include "collector/ordering/device_replay.h"

#include <algorithm>
#include <vector>

namespace ddpscope::ordering {
namespace {

using matching::kNone;
using model::Job;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

constexpr std::uint32_t kNonBlockingStream = 1;  // cudaStreamNonBlocking
constexpr std::uint8_t kDeviceToDevice = 3;

struct Entry {
  HostCall call;         // record is nullptr for a collective
  std::uint32_t number;  // of the collective
};

class Replay {
 public:
  Replay(const Job& job, const matching::Collectives& collectives, std::uint32_t process,
         DeviceEvents& events)
      : job_(job), collectives_(collectives), process_(process), events_(events) {}

  void run() {
    collect();
    for (const Entry& entry : entries_) {
      if (entry.call.record)
        apply(entry.call);
      else
        enqueue(entry.number);
    }
  }

 private:
  void collect();
  void enqueue(std::uint32_t number);
  void apply(const HostCall& host_call);
  void apply_copy(const HostCall& host_call);
  const Job& job_;
  const matching::Collectives& collectives_;
  std::uint32_t process_;
  DeviceEvents& events_;
  std::vector<Entry> entries_;
  Streams streams_;
};

void Replay::collect() {
  constexpr trace::OperationSet kOrdering =
      trace::OperationSet::range(Operation::kDeviceWait, Operation::kStreamCreate) |
      trace::OperationSet{Operation::kCopy};
  model::for_each(
      job_.processes[process_].file, kOrdering, [&](model::EventPlace place, const Record& record) {
        Operation operation = trace::operation_of(record.call);
        entries_.push_back({{job_.time_ns(process_, record.begin), &record, place, operation}, kNone});
      });
  auto earlier = [](const Entry& a, const Entry& b) { return a.call.begin_ns < b.call.begin_ns; };
  auto sort = [&](std::ptrdiff_t from) {
    if (!std::is_sorted(entries_.begin() + from, entries_.end(), earlier))
      std::stable_sort(entries_.begin() + from, entries_.end(), earlier);
  };
  sort(0);
  auto device_calls = static_cast<std::ptrdiff_t>(entries_.size());
  for (std::uint32_t i = collectives_.first_of_process[process_];
       i < collectives_.first_of_process[process_ + 1]; ++i)
    entries_.push_back({{collectives_.calls[i].enqueue_ns, nullptr, {}, Operation::kNone}, i});
  sort(device_calls);
  std::inplace_merge(entries_.begin(), entries_.begin() + device_calls, entries_.end(), earlier);
}

void Replay::enqueue(std::uint32_t number) {
  const auto& call = collectives_.calls[number];
  StreamNumber stream = streams_.find(call.stream, call.device, call.thread);
  events_.enqueued(number, stream, streams_);
  streams_.enqueue_collective(stream);
}

void Replay::apply(const HostCall& host_call) {
  if (host_call.operation == Operation::kCopy) return apply_copy(host_call);
  const Record& record = *host_call.record;
  auto call = trace::payload_of<payload::DeviceOrder>(record);
  bool done = record.end != 0 && call.result == 0;
  auto stream = [&] { return streams_.find(call.stream, call.device, record.thread); };
  switch (host_call.operation) {
    case Operation::kStreamCreate:
      return streams_.create(call.stream, call.device, !(call.flags & kNonBlockingStream));
    case Operation::kEventRecord:
      return streams_.record_event(call.event, stream());
    case Operation::kStreamWaitEvent:
      return streams_.wait_for_event(stream(), call.event);
    case Operation::kDeviceWait:
      return events_.waited(host_call, streams_.cover_of_device(call.device), done);
    case Operation::kStreamWait:
    case Operation::kStreamQuery:
      return events_.waited(host_call, streams_.cover_of(stream()), done);
    case Operation::kEventWait:
    case Operation::kEventQuery:
      return events_.waited(host_call, streams_.cover_of_event(call.event), done);
    default:
      return;
  }
}

// cudaMemcpy and its synchronous kin return when the copy is done, which runs in the legacy stream; from
// device to device they do not wait.
void Replay::apply_copy(const HostCall& host_call) {
  const Record& record = *host_call.record;
  switch (static_cast<trace::Call>(record.call)) {
    case trace::Call::cudaMemcpy:
    case trace::Call::cudaMemcpy2D:
    case trace::Call::cudaMemcpy3D:
    case trace::Call::cudaMemcpyFromSymbol:
    case trace::Call::cudaMemcpyFromArray:
    case trace::Call::cudaMemcpy2DFromArray:
      break;
    default:
      return;
  }
  auto copy = trace::payload_of<payload::Copy>(record);
  if (copy.kind == kDeviceToDevice) return;
  bool done = record.end != 0 && copy.result == 0;
  StreamNumber stream = streams_.find(copy.stream, copy.device, record.thread);
  events_.waited(host_call, streams_.cover_of(stream), done);
}

}  // namespace

void replay_device(const Job& job, const matching::Collectives& collectives, std::uint32_t process,
                   DeviceEvents& events) {
  Replay(job, collectives, process, events).run();
}

}  // namespace ddpscope::ordering
