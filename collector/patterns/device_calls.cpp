// Merges a process's collectives with its calls on streams, as replay_device() does, but keeps what is timed.
#include "collector/patterns/device_calls.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "collector/model/cuda_types.h"
#include "collector/ordering/device_replay.h"

namespace ddpscope::patterns {
namespace {

using trace::Operation;
using trace::Record;
using Kind = DeviceCall::Kind;
namespace payload = trace::payload;

constexpr trace::OperationSet kRead =
    trace::OperationSet::range(Operation::kDeviceWait, Operation::kStreamCreate) |
    trace::OperationSet{Operation::kCopy, Operation::kFill, Operation::kLaunch, Operation::kGraphLaunch};
constexpr std::uint32_t kNonBlockingStream = 1;  // cudaStreamNonBlocking
constexpr double kFarBeyond = 4;                 // times what the quickest launches take
constexpr std::size_t kQuickest = 50;            // one launch in so many

// How long the quickest launches take, by powers of two.
class QuickLaunches {
 public:
  void add(double ns) {
    ++all_;
    ++counts_[std::bit_width(static_cast<std::uint64_t>(ns))];
  }
  // Their time, rounded up.
  double quickest_ns() const {
    std::size_t power = 0;
    for (std::uint64_t quicker = counts_[0]; quicker * kQuickest < all_; quicker += counts_[power]) ++power;
    return std::ldexp(1.0, static_cast<int>(power));
  }

 private:
  std::array<std::uint64_t, 65> counts_{};
  std::uint64_t all_ = 0;
};

class Reader {
 public:
  Reader(const model::Job& job, const matching::Collectives& collectives, std::uint32_t process,
         std::span<const Stretch> stretches, std::size_t most)
      : job_(job),
        collectives_(collectives),
        process_(process),
        next_collective_(collectives.first_of_process[process]),
        wanted_(stretches),
        room_(most) {}

  DeviceCalls read();

 private:
  bool arrive_at(std::int64_t ns);
  void enter();
  void leave();
  void take_collectives_until(std::int64_t ns);
  void take(const Record& record);
  void take_launches(const Record& record, std::uint64_t handle, std::uint8_t device, std::uint32_t count);
  void take_order(const Record& record, Operation operation);
  void take_copy(const Record& record);
  void add(const Record& record, DeviceCall call);
  void add(std::int64_t begin_ns, std::int64_t end_ns, DeviceCall call);
  double without_waits_for_room(double ns, std::uint32_t launches);

  const model::Job& job_;
  const matching::Collectives& collectives_;
  std::uint32_t process_;
  std::uint32_t next_collective_;
  std::span<const Stretch> wanted_;  // from the one at hand on
  std::size_t room_;
  bool inside_ = false;
  std::int64_t host_ns_ = 0;                     // until when the host was busy with calls
  std::unordered_set<std::uint16_t> enqueuing_;  // threads
  QuickLaunches quick_;
  DeviceCalls result_;
};

// Into the stretch that has this time, if there is one. false: nothing more is wanted.
bool Reader::arrive_at(std::int64_t ns) {
  while (!wanted_.empty() && ns >= wanted_.front().end_ns) leave();
  if (wanted_.empty()) return false;
  if (!inside_ && ns >= wanted_.front().begin_ns) enter();
  return true;
}

void Reader::enter() {
  inside_ = true;
  host_ns_ = wanted_.front().begin_ns;
  result_.stretches.push_back({wanted_.front(), {}, 0});
}

void Reader::leave() {
  if (!inside_) enter();
  StretchOfCalls& left = result_.stretches.back();
  left.after_ns = static_cast<double>(left.stretch.end_ns - host_ns_);
  wanted_ = wanted_.subspan(1);
  inside_ = false;
}

double Reader::without_waits_for_room(double ns, std::uint32_t launches) {
  if (ns > 0) quick_.add(ns / launches);  // 0: beside a call of another thread
  return std::min(ns, kFarBeyond * quick_.quickest_ns() * launches);
}

void Reader::add(std::int64_t begin_ns, std::int64_t end_ns, DeviceCall call) {
  if (!inside_) return;
  end_ns = std::min(end_ns, wanted_.front().end_ns);
  call.before_ns = static_cast<double>(std::max<std::int64_t>(0, begin_ns - host_ns_));
  auto own_ns = static_cast<double>(std::max<std::int64_t>(0, end_ns - std::max(begin_ns, host_ns_)));
  host_ns_ = std::max(host_ns_, end_ns);
  if (call.kind < Kind::kWaitForStream) call.host_ns = own_ns;
  if (call.kind == Kind::kLaunches) call.host_ns = without_waits_for_room(own_ns, call.launches);
  std::vector<DeviceCall>& calls = result_.stretches.back().calls;
  bool goes_on = !calls.empty() && call.kind == Kind::kLaunches && calls.back().kind == Kind::kLaunches &&
                 calls.back().stream == call.stream;
  if (goes_on) {
    calls.back().launches += call.launches;
    calls.back().host_ns += call.before_ns + call.host_ns;
  } else if (room_ > 0) {
    calls.push_back(call);
    --room_;
  } else {  // without this stretch and those behind it
    result_.stretches.pop_back();
    wanted_ = {};
    inside_ = false;
  }
}

void Reader::add(const Record& record, DeviceCall call) {
  add(job_.time_ns(process_, record.begin), job_.end_ns(process_, record), call);
}

void Reader::take_collectives_until(std::int64_t ns) {
  const matching::CallTable& calls = collectives_.calls;
  for (; next_collective_ < collectives_.first_of_process[process_ + 1]; ++next_collective_) {
    std::int64_t begin_ns = calls.begin_ns(next_collective_);
    if (begin_ns > ns || !arrive_at(begin_ns)) return;
    const matching::CallForm& form = calls.form(next_collective_);
    enqueuing_.insert(form.thread);
    if (form.signature.operation == Operation::kSend || form.signature.operation == Operation::kReceive)
      continue;
    ordering::StreamNumber stream = result_.streams.find(form.stream, form.device, form.thread);
    add(begin_ns, calls.enqueue_ns(next_collective_), {Kind::kCollective, 0, stream, next_collective_});
  }
}

void Reader::take_launches(const Record& record, std::uint64_t handle, std::uint8_t device,
                           std::uint32_t count) {
  enqueuing_.insert(record.thread);
  ordering::StreamNumber stream = result_.streams.find(handle, device, record.thread);
  if (count > 0) add(record, {Kind::kLaunches, count, stream});
}

void Reader::take_order(const Record& record, Operation operation) {
  auto order = trace::payload_of<payload::DeviceOrder>(record);
  if (operation == Operation::kStreamCreate)
    return result_.streams.create(order.stream, order.device, !(order.flags & kNonBlockingStream));
  ordering::StreamNumber stream = result_.streams.find(order.stream, order.device, record.thread);
  if (operation == Operation::kEventRecord)
    return add(record, {Kind::kRecordEvent, 0, stream, matching::kNone, order.event});
  if (operation == Operation::kStreamWaitEvent)
    return add(record, {Kind::kAwaitEvent, 0, stream, matching::kNone, order.event});
  if (!enqueuing_.contains(record.thread)) return;
  if (operation == Operation::kStreamWait) return add(record, {Kind::kWaitForStream, 0, stream});
  if (operation == Operation::kEventWait)
    return add(record, {Kind::kWaitForEvent, 0, stream, matching::kNone, order.event});
  if (operation == Operation::kDeviceWait) return add(record, {Kind::kWaitForDevice, 0, stream});
}

void Reader::take_copy(const Record& record) {
  auto copy = trace::payload_of<payload::Copy>(record);
  ordering::StreamNumber stream = result_.streams.find(copy.stream, copy.device, record.thread);
  add(record, {Kind::kCopy, 0, stream});
  bool waits = ordering::is_synchronous_copy(record.call) && copy.kind != model::kDeviceToDevice;
  if (waits && enqueuing_.contains(record.thread)) add(record, {Kind::kWaitForStream, 0, stream});
}

void Reader::take(const Record& record) {
  Operation operation = trace::operation_of(record.call);
  if (operation == Operation::kCopy || operation == Operation::kFill) return take_copy(record);
  if (operation == Operation::kLaunch) {
    auto launch = trace::payload_of<payload::Launch>(record);
    return take_launches(record, launch.stream, launch.device, launch.count);
  }
  if (operation == Operation::kGraphLaunch) {
    auto graph = trace::payload_of<payload::DeviceOrder>(record);
    return take_launches(record, graph.stream, graph.device, graph.count);
  }
  take_order(record, operation);
}

DeviceCalls Reader::read() {
  for (model::TimeOrder order(job_.processes[process_].file, kRead); !order.done(); order.next()) {
    if (!order.record().call) continue;
    std::int64_t begin_ns = job_.time_ns(process_, order.record().begin);
    take_collectives_until(begin_ns);
    if (!arrive_at(begin_ns)) break;
    take(order.record());
  }
  if (!wanted_.empty()) take_collectives_until(wanted_.back().end_ns);
  while (!wanted_.empty()) leave();
  return std::move(result_);
}

}  // namespace

DeviceCalls read_device_calls(const model::Job& job, const matching::Collectives& collectives,
                              std::uint32_t process, std::span<const Stretch> stretches, std::size_t most) {
  return Reader(job, collectives, process, stretches, most).read();
}

}  // namespace ddpscope::patterns
