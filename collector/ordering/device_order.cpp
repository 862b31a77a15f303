// Replays each process's stream and event calls in time order.
#include "collector/ordering/device_order.h"

#include <algorithm>
#include <map>

#include "collector/ordering/streams.h"

namespace ddpscope::ordering {
namespace {

using matching::Collectives;
using matching::kNone;
using model::Job;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

constexpr std::uint32_t kNonBlockingStream = 1;  // cudaStreamNonBlocking

class Replay {
 public:
  Replay(const Job& job, const Collectives& collectives, std::uint32_t process, DeviceOrder& out)
      : job_(job), collectives_(collectives), process_(process), out_(out) {}

  void run();
  std::vector<std::uint32_t> before(std::uint32_t call);

 private:
  struct Entry {
    std::int64_t at_ns;
    const Record* record;  // nullptr: the collective `number`
    model::EventPlace place;
    Operation operation;
    std::uint32_t number;
  };
  // The collectives of a stream, and how many of them, from the first, are known to be done: to anybody, and
  // to each thread by waits of its own.
  struct Track {
    std::vector<std::uint32_t> calls;
    std::uint32_t done = 0;
    std::map<std::uint16_t, std::uint32_t> done_by_thread;
  };

  void collect();
  void apply(const Entry& entry);
  void apply_copy(const Entry& entry);
  void enqueue(std::uint32_t call);
  void host_waits(const Entry& entry, const Cover& cover, bool done);
  void mark(Track& track, std::uint32_t upto, const Entry& entry, std::uint32_t wait, bool done);
  static bool orders(Operation operation);

  const Job& job_;
  const Collectives& collectives_;
  std::uint32_t process_;
  DeviceOrder& out_;
  std::vector<Entry> entries_;
  Streams streams_;
  std::vector<Track> tracks_;  // by stream
};

bool Replay::orders(Operation operation) {
  return (operation >= Operation::kDeviceWait && operation <= Operation::kStreamCreate) ||
         operation == Operation::kCopy;
}

void Replay::collect() {
  const model::Process& process = job_.processes[process_];
  model::for_each(process.file, [&](model::EventPlace place, const Record& record) {
    Operation operation = trace::operation_of(static_cast<trace::Call>(record.call));
    if (orders(operation))
      entries_.push_back({job_.time_ns(process_, record.begin), &record, place, operation, kNone});
  });
  auto earlier = [](const Entry& a, const Entry& b) { return a.at_ns < b.at_ns; };
  auto sort = [&](std::ptrdiff_t from) {
    if (!std::is_sorted(entries_.begin() + from, entries_.end(), earlier))
      std::stable_sort(entries_.begin() + from, entries_.end(), earlier);
  };
  sort(0);
  auto device_calls = static_cast<std::ptrdiff_t>(entries_.size());
  for (std::uint32_t i = collectives_.first_of_process[process_];
       i < collectives_.first_of_process[process_ + 1]; ++i)
    entries_.push_back({collectives_.calls[i].enqueue_ns, nullptr, {}, Operation::kNone, i});
  sort(device_calls);
  std::inplace_merge(entries_.begin(), entries_.begin() + device_calls, entries_.end(), earlier);
}

void Replay::run() {
  collect();
  for (const Entry& entry : entries_) {
    if (entry.record)
      apply(entry);
    else
      enqueue(entry.number);
  }
}

std::vector<std::uint32_t> Replay::before(std::uint32_t call) {
  collect();
  for (const Entry& entry : entries_) {
    if (entry.record) {
      apply(entry);
    } else if (entry.number != call) {
      enqueue(entry.number);
    } else {
      const auto& own = collectives_.calls[call];
      Cover cover = streams_.cover_of(streams_.find(own.stream, own.device, own.thread));
      std::vector<std::uint32_t> calls;
      for (std::size_t s = 0; s < cover.size() && s < tracks_.size(); ++s)
        calls.insert(calls.end(), tracks_[s].calls.begin(), tracks_[s].calls.begin() + cover[s]);
      return calls;
    }
  }
  return {};
}

void Replay::enqueue(std::uint32_t number) {
  const auto& call = collectives_.calls[number];
  StreamNumber stream = streams_.find(call.stream, call.device, call.thread);
  if (tracks_.size() <= stream) tracks_.resize(stream + 1);
  tracks_[stream].calls.push_back(number);
  streams_.enqueue_collective(stream);
}

void Replay::apply(const Entry& entry) {
  if (entry.operation == Operation::kCopy) return apply_copy(entry);
  auto call = trace::payload_of<payload::DeviceOrder>(*entry.record);
  bool returned = entry.record->end != 0;
  bool done = returned && call.result == 0;
  auto stream = [&] { return streams_.find(call.stream, call.device, entry.record->thread); };
  switch (entry.operation) {
    case Operation::kStreamCreate:
      return streams_.create(call.stream, call.device, !(call.flags & kNonBlockingStream));
    case Operation::kEventRecord:
      return streams_.record_event(call.event, stream());
    case Operation::kStreamWaitEvent:
      return streams_.wait_for_event(stream(), call.event);
    case Operation::kDeviceWait:
      return host_waits(entry, streams_.cover_of_device(call.device), done);
    case Operation::kStreamWait:
      return host_waits(entry, streams_.cover_of(stream()), done);
    case Operation::kEventWait:
      return host_waits(entry, streams_.cover_of_event(call.event), done);
    case Operation::kStreamQuery:
      return host_waits(entry, streams_.cover_of(stream()), done);
    case Operation::kEventQuery:
      return host_waits(entry, streams_.cover_of_event(call.event), done);
    default:
      return;
  }
}

// cudaMemcpy and its synchronous kin return when the copy is done, which runs in the legacy stream.
void Replay::apply_copy(const Entry& entry) {
  switch (static_cast<trace::Call>(entry.record->call)) {
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
  auto copy = trace::payload_of<payload::Copy>(*entry.record);
  bool done = entry.record->end != 0 && copy.result == 0;
  host_waits(entry, streams_.cover_of(streams_.find(copy.stream, copy.device, entry.record->thread)), done);
}

void Replay::host_waits(const Entry& entry, const Cover& cover, bool done) {
  bool news = false;
  for (std::size_t s = 0; s < cover.size() && s < tracks_.size(); ++s)
    news = news || tracks_[s].done_by_thread[entry.record->thread] < cover[s] || tracks_[s].done < cover[s];
  if (!news) return;
  auto wait = static_cast<std::uint32_t>(out_.waits.size());
  std::int64_t end = done ? job_.time_ns(process_, entry.record->end) : kNever;
  out_.waits.push_back({{process_, entry.place}, entry.at_ns, end, entry.record->thread});
  for (std::size_t s = 0; s < cover.size() && s < tracks_.size(); ++s)
    mark(tracks_[s], cover[s], entry, wait, done);
}

void Replay::mark(Track& track, std::uint32_t upto, const Entry& entry, std::uint32_t wait, bool done) {
  std::uint32_t& by_thread = track.done_by_thread[entry.record->thread];
  // A poll that says "not yet" is no wait: a watchdog asks about everything.
  bool waits =
      done || (entry.operation != Operation::kStreamQuery && entry.operation != Operation::kEventQuery);
  for (std::uint32_t i = std::min(track.done, by_thread); waits && i < upto; ++i) {
    const auto& call = collectives_.calls[track.calls[i]];
    Completion& completion = out_.completions[track.calls[i]];
    if (call.thread == entry.record->thread && completion.own_wait == kNone) completion.own_wait = wait;
    if (i < track.done) continue;
    // An abort releases those who wait: what they waited for is not complete.
    std::int64_t aborted = collectives_.member_of(call).aborted_ns;
    if (done && out_.waits[wait].end_ns < aborted)
      completion.wait = wait;
    else if (out_.waits[wait].begin_ns < aborted && completion.blocked == kNone)
      completion.blocked = wait;
  }
  if (!done) return;
  track.done = std::max(track.done, upto);
  by_thread = std::max(by_thread, upto);
}

}  // namespace

DeviceOrder find_device_order(const Job& job, const Collectives& collectives) {
  DeviceOrder order;
  order.completions.resize(collectives.calls.size());
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    Replay(job, collectives, process, order).run();
  return order;
}

std::vector<std::uint32_t> find_collectives_before(const Job& job, const Collectives& collectives,
                                                   std::uint32_t call) {
  DeviceOrder order;
  order.completions.resize(collectives.calls.size());
  return Replay(job, collectives, collectives.calls[call].event.process, order).before(call);
}

}  // namespace ddpscope::ordering
