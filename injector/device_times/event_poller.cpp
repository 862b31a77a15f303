// Times are read against an anchor: an event on a stream of our own, with the host's clock read around it.
#include "injector/device_times/event_poller.h"

#include <time.h>

#include <algorithm>
#include <iterator>

#include "injector/core/hook.h"
#include "injector/device_times/cuda_events.h"
#include "injector/device_times/event_pairs.h"
#include "injector/device_times/own_thread.h"
#include "injector/device_times/sampling.h"
#include "injector/device_times/timing.h"
#include "trace/device_work.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

OwnThread thread;

// A float holds milliseconds: after 8 s it tells half a microsecond.
constexpr std::uint64_t kAnchorNs = 4'000'000'000;
constexpr std::uint64_t kOldestAnchorNs = 7'500'000'000;
// Behind an anchor that cannot be renewed: what is further off is not told. (What began before one, as it
// waited for long, is told by a float that is less exact by then: to 4 us after a minute.)
constexpr float kMostSinceMs = 8192;
constexpr std::uint64_t kGoodAnchorNs = 5'000;  // one that is known so well is not tried again
constexpr std::uint64_t kFairAnchorNs = 50'000;
constexpr int kAnchorTries = 3;
constexpr std::uint64_t kSpinNs = 200'000;
constexpr std::uint64_t kDozeNs = 100'000;
constexpr std::uint64_t kAnchorPatienceNs = 20'000'000;
constexpr std::uint64_t kBusyPauseNs = 5'000'000;
constexpr std::uint64_t kIdlePauseNs = 50'000'000;
constexpr std::uint64_t kRateNs = 20'000'000;  // over less than that the clock's rate is not measured
constexpr std::uint64_t kFinishNs = 50'000'000;

struct Moment {
  std::uint64_t ticks;  // 0: there is none
  std::uint64_t error_ticks;
};

struct Anchor {
  cudaStream_t stream;
  cudaEvent_t events[2];  // the one in use, and the next
  unsigned in_use;
  Moment moment;  // of the one in use
  std::uint64_t made_ns;
};

struct Poller {
  Anchor anchors[kTimedDevices];
  std::uint64_t base_ticks, base_ns;
  std::uint32_t level;                   // of sampling.h, found when
  std::uint64_t stretch, stretch_ticks;  // this one began
  int device;                            // that is current in this thread
};
Poller poller;

std::uint64_t ticks(const trace::FileWriter& file) { return trace::read_ticks(file.clock().kind); }

double ticks_per_ms(const trace::FileWriter& file) {
  if (file.clock().kind == trace::ClockKind::kMonotonicNs) return 1e6;
  std::uint64_t ns = trace::monotonic_ns() - poller.base_ns;
  return static_cast<double>(ticks(file) - poller.base_ticks) * 1e6 / static_cast<double>(ns);
}

bool use_device(unsigned device) {
  if (poller.device == static_cast<int>(device)) return true;
  if (CudaEvents::set_device.get()(static_cast<int>(device)) != cudaSuccess) return false;
  poller.device = static_cast<int>(device);
  return true;
}

bool prepare(Anchor& anchor) {
  if (anchor.stream) return true;
  for (cudaEvent_t& event : anchor.events)
    if (!event && CudaEvents::create.get()(&event, cudaEventDefault) != cudaSuccess) return false;
  return CudaEvents::create_stream.get()(&anchor.stream, cudaStreamNonBlocking) == cudaSuccess;
}

void doze(std::uint64_t ns) {
  timespec time{0, static_cast<long>(ns)};
  trace::raw_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, trace::as_argument(&time), 0);
}

// Records the other event and waits until it has passed: somewhere between the two readings of the clock.
// False: it stays behind other work.
bool try_anchor(const trace::FileWriter& file, const Anchor& anchor, Moment* moment) {
  cudaEvent_t event = anchor.events[1 - anchor.in_use];
  std::uint64_t before = ticks(file), began_ns = trace::monotonic_ns();
  if (CudaEvents::record.get()(event, anchor.stream) != cudaSuccess) return false;
  while (CudaEvents::query.get()(event) != cudaSuccess) {
    std::uint64_t waited_ns = trace::monotonic_ns() - began_ns;
    if (waited_ns > kAnchorPatienceNs) return false;
    if (waited_ns > kSpinNs) doze(kDozeNs);
  }
  moment->error_ticks = (ticks(file) - before + 1) / 2;
  moment->ticks = before + moment->error_ticks;
  return true;
}

void renew_anchor(trace::FileWriter& file, unsigned device, Anchor& anchor) {
  std::uint64_t now_ns = trace::monotonic_ns();
  std::uint64_t age_ns = now_ns - anchor.made_ns;
  if (anchor.moment.ticks && age_ns < kAnchorNs) return;
  double per_ns = ticks_per_ms(file) * 1e-6;
  // An old one that is exact is better than a new one that is not, as long as a float can hold the distance.
  double worst = !anchor.moment.ticks || age_ns > kOldestAnchorNs ? 1e18 : kFairAnchorNs * per_ns;
  bool renewed = false;
  for (int i = 0; i < kAnchorTries && worst > kGoodAnchorNs * per_ns; ++i) {
    Moment moment{};
    if (!try_anchor(file, anchor, &moment) || static_cast<double>(moment.error_ticks) >= worst) continue;
    worst = static_cast<double>(moment.error_ticks);
    anchor.in_use = 1 - anchor.in_use;
    anchor.moment = moment;
    anchor.made_ns = now_ns;
    renewed = true;
  }
  if (!renewed) return;
  OwnWork work(&file);
  auto error_ns = static_cast<std::uint64_t>(worst / per_ns) + 1;
  if (work)
    record_moment<Call::device_clock>(file,
                                      {0, anchor.moment.ticks, error_ns, static_cast<std::uint8_t>(device)});
}

void write_down(trace::FileWriter& file, const EventPair& pair, const Anchor& anchor, float since_ms,
                float took_ms) {
  double rate = ticks_per_ms(file);
  trace::DeviceWork work{};
  work.begin = anchor.moment.ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(since_ms * rate));
  work.duration = static_cast<float>(took_ms * rate);
  work.called = trace::call_time(pair.called);
  work.thread = pair.thread;
  work.kind = trace::DeviceWorkKind::kCollective;
  work.device = pair.device;
  OwnWork own(&file);
  for (std::uint32_t i = 0; own && i < pair.count; ++i) {
    work.subject = pair.communicator | std::uint64_t{pair.sequence + i} << 32;
    this_thread.writer.add_device_work(file, work, trace::Budget::kKept);
  }
}

// Whether the pair can be used again.
bool read_pair(trace::FileWriter& file, const EventPair& pair, const Anchor& anchor) {
  cudaError_t passed = CudaEvents::query.get()(pair.stop);
  if (passed == cudaErrorNotReady) return false;
  float since_ms = 0, took_ms = -1;
  bool read = passed == cudaSuccess && pair.file_epoch == file.epoch() &&
              CudaEvents::elapsed.get()(&since_ms, anchor.events[anchor.in_use], pair.start) == cudaSuccess &&
              since_ms <= kMostSinceMs &&
              CudaEvents::elapsed.get()(&took_ms, pair.start, pair.stop) == cudaSuccess &&
              took_ms >= 0;  // else the clock that the events are read by was set back
  if (read)
    write_down(file, pair, anchor, since_ms, took_ms);
  else
    file.count(trace::Health::device_work_untimed, pair.count);
  return true;
}

// Communicators of which the device has yet to pass a collective: behind that one it has passed none of
// theirs, which need not be asked about.
class Behind {
 public:
  bool has(std::uint32_t communicator) const {
    return std::find(communicators_, communicators_ + count_, communicator) != communicators_ + count_;
  }
  void add(std::uint32_t communicator) {
    if (count_ < std::size(communicators_)) communicators_[count_++] = communicator;
  }

 private:
  std::uint32_t communicators_[16];  // of more each pair is asked about
  unsigned count_ = 0;
};

void read_device(trace::FileWriter& file, unsigned device, DevicePairs& pairs) {
  Anchor& anchor = poller.anchors[device];
  if (!use_device(device) || !prepare(anchor))
    return stop_timing("CUDA refused a stream or event for timing");
  renew_anchor(file, device, anchor);
  if (!anchor.moment.ticks) return;
  Behind behind;
  std::uint32_t oldest = __atomic_load_n(&pairs.next, __ATOMIC_RELAXED);
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    EventPair& pair = pairs.pairs[(oldest + i) % kPairs];
    if (__atomic_load_n(&pair.state, __ATOMIC_ACQUIRE) != PairState::kRecorded) continue;
    if (behind.has(pair.communicator)) continue;
    if (!read_pair(file, pair, anchor)) {
      behind.add(pair.communicator);
      continue;
    }
    __atomic_fetch_sub(&pairs.recorded, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&pair.state, PairState::kFree, __ATOMIC_RELEASE);
  }
}

// False: nothing is to be read on any device.
bool look(trace::FileWriter& file) {
  bool any = false;
  for (unsigned device = 0; device < kTimedDevices; ++device) {
    DevicePairs* pairs = pairs_of_device(device);
    if (!pairs || !__atomic_load_n(&pairs->recorded, __ATOMIC_ACQUIRE)) continue;
    any = true;
    read_device(file, device, *pairs);
  }
  return any;
}

std::uint64_t wall_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

// The level stays while a stretch lasts: its steps are timed as a whole, or not.
void sample(const trace::FileWriter& file) {
  std::uint64_t now_ns = wall_ns();
  if (std::uint64_t stretch = now_ns / kStretchNs; stretch != poller.stretch) {
    std::uint64_t now_ticks = ticks(file);
    poller.level = next_level(poller.level, cost_since(), now_ticks - poller.stretch_ticks);
    poller.stretch = stretch;
    poller.stretch_ticks = now_ticks;
  }
  choose_sampled(is_sampled(poller.level, trace::monotonic_ns() - poller.base_ns, now_ns));
}

// What devices have not passed when the process ends.
void count_unread(trace::FileWriter& file) {
  for (unsigned device = 0; device < kTimedDevices; ++device) {
    DevicePairs* pairs = pairs_of_device(device);
    for (std::uint32_t i = 0; pairs && i < kPairs; ++i)
      if (const EventPair& pair = pairs->pairs[i];
          __atomic_load_n(&pair.state, __ATOMIC_ACQUIRE) == PairState::kRecorded)
        file.count(trace::Health::device_work_untimed, pair.count);
  }
}

void poll_until_finished(trace::FileWriter& file) {
  poller.base_ticks = poller.stretch_ticks = ticks(file);
  poller.base_ns = trace::monotonic_ns();
  poller.stretch = wall_ns() / kStretchNs;
  poller.device = -1;
  bool any = false;
  bool goes_on = thread.goes_on_after(kRateNs);
  while (goes_on) {
    any = look(file);
    sample(file);
    goes_on = thread.goes_on_after(any ? kBusyPauseNs : kIdlePauseNs);
  }
  look(file);
  count_unread(file);
}

void* run(void*) {
  this_thread.vendor_thread = true;                              // what CUDA does here is not the guest's
  cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;  // else a query ends another thread's capture
  if (CudaEvents::exchange_capture_mode.get()(&relaxed) == cudaSuccess)
    if (trace::FileWriter* file = recorder(Weight::kFollows)) poll_until_finished(*file);
  thread.end();
  return nullptr;
}

}  // namespace

bool start_event_poller() {
  if (thread.start(run)) return true;
  stop_timing(thread.was_started() ? "the process ends" : "no thread could be started to read the times");
  return false;
}

bool event_poller_runs() { return thread.was_started(); }

void finish_event_poller() { thread.finish(kFinishNs); }

void forget_event_poller() {
  thread.forget();
  forget_event_pairs();
  poller = Poller{};
}

}  // namespace ddpscope::injector
