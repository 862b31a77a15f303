// Bounds are taken for stretches of some seconds. A later one goes by its own and by those before it, which
// the clocks' drift has widened since: when a job has come into its stride its host is always ahead.
#include "injector/nccl_profiler/device_timer.h"

#include "injector/core/hook.h"

namespace ddpscope::injector::profiler {
namespace {

constexpr std::int64_t kUnbounded = INT64_MAX;
constexpr std::int64_t kStretchNs = 4'000'000'000;
constexpr std::int64_t kBackNs = 1'000'000'000;  // kernels are told of in no order, but not that late
constexpr double kDrift = 1e-5;                  // that is taken for possible
constexpr double kPromptNs = 5'000;              // within which NCCL's thread tells of an end, if all is well

struct Bounds {
  std::int64_t low, high;  // host ticks at the timer's base
  bool known() const { return low != -kUnbounded && high != kUnbounded; }
};
constexpr Bounds kNoBounds{-kUnbounded, kUnbounded};

struct Timer {
  int busy;  // __atomic
  bool begun;
  std::uint64_t told_error_ns;  // of the stretch; 0: nothing was told yet
  std::uint64_t base_ns;
  double rate;  // ticks a nanosecond
  Bounds now, before;
};
Timer timers[kTimers];

// Held for some instructions: whoever does not get it soon goes on without.
class Try {
 public:
  explicit Try(Timer& timer) : timer_(timer), entered_(false) {
    constexpr int kTries = 2000;
    for (int i = 0; i < kTries && !entered_; ++i) {
      entered_ = !__atomic_exchange_n(&timer.busy, 1, __ATOMIC_ACQUIRE);
      if (!entered_) __builtin_ia32_pause();
    }
  }
  ~Try() {
    if (entered_) __atomic_store_n(&timer_.busy, 0, __ATOMIC_RELEASE);
  }
  Try(const Try&) = delete;
  Try& operator=(const Try&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  Timer& timer_;
  bool entered_;
};

Timer& timer_of(std::uint8_t device) { return timers[device < kTimers - 1 ? device : kTimers - 1]; }

double host_rate(trace::FileWriter& file) {
  if (file.clock().kind == trace::ClockKind::kMonotonicNs) return 1;
  trace::ClockTuple now = file.clock().now(), opened = file.header().opened;
  return static_cast<double>(now.ticks - opened.ticks) /
         static_cast<double>(now.monotonic_ns - opened.monotonic_ns + 1);
}

std::int64_t since_base(const Timer& timer, std::uint64_t ns) {
  return static_cast<std::int64_t>(ns - timer.base_ns);
}
std::int64_t in_ticks(const Timer& timer, std::int64_t ns) {
  return static_cast<std::int64_t>(static_cast<double>(ns) * timer.rate);
}

void add(Bounds& bounds, std::int64_t by, std::int64_t slack) {
  if (bounds.low != -kUnbounded) bounds.low += by - slack;
  if (bounds.high != kUnbounded) bounds.high += by + slack;
}

Bounds both(const Timer& timer) {
  Bounds bounds{timer.now.low > timer.before.low ? timer.now.low : timer.before.low,
                timer.now.high < timer.before.high ? timer.now.high : timer.before.high};
  return bounds.low <= bounds.high ? bounds : timer.now;  // a clock was set, or drifts more than is possible
}

struct Estimate {
  std::int64_t ticks;  // at the base
  std::uint64_t error_ns;
};

Estimate estimate(const Timer& timer) {
  Bounds bounds = both(timer);
  std::int64_t half = (bounds.high - bounds.low) / 2,
               prompt = static_cast<std::int64_t>(kPromptNs * timer.rate);
  std::int64_t back = half < prompt ? half : prompt;
  if (back < 0) back = 0;
  std::int64_t most = bounds.high - back - bounds.low;
  auto error = static_cast<double>(most > back ? most : back);
  return {bounds.high - back, static_cast<std::uint64_t>(error / timer.rate) + 1};
}

void tell(trace::FileWriter& file, std::uint8_t device, std::uint64_t base_ns, const Estimate& estimate) {
  OwnWork work(&file);
  if (!work) return;
  record_moment<Call::device_clock>(
      file, {base_ns, static_cast<std::uint64_t>(estimate.ticks), estimate.error_ns, device});
}

void begin_stretch(Timer& timer, std::uint64_t ns, double rate) {
  std::int64_t passed = timer.begun ? since_base(timer, ns) : -1;
  if (passed >= 0) {
    std::int64_t ticks = in_ticks(timer, passed);
    timer.before = both(timer);
    add(timer.before, ticks, static_cast<std::int64_t>(static_cast<double>(ticks) * kDrift));
  } else {
    timer.before = kNoBounds;
  }
  timer.now = kNoBounds;
  timer.told_error_ns = 0;
  timer.base_ns = ns;
  timer.rate = rate;
  timer.begun = true;
}

}  // namespace

void bound_timer(trace::FileWriter& file, std::uint8_t device, std::uint64_t timer_ns,
                 std::uint64_t host_ticks, bool is_before) {
  Timer& timer = timer_of(device);
  Try turn(timer);
  if (!turn) return;
  std::int64_t since = timer.begun ? since_base(timer, timer_ns) : kStretchNs;
  if (since >= kStretchNs || since < -kBackNs) begin_stretch(timer, timer_ns, host_rate(file));
  std::int64_t at_base = static_cast<std::int64_t>(host_ticks) - in_ticks(timer, since_base(timer, timer_ns));
  if (is_before && at_base > timer.now.low) timer.now.low = at_base;
  if (!is_before && at_base < timer.now.high) timer.now.high = at_base;
}

std::uint64_t timer_ticks(trace::FileWriter& file, std::uint8_t device, std::uint64_t timer_ns) {
  constexpr std::uint64_t kBetter = 4;
  Timer& timer = timer_of(device);
  Estimate now{};
  std::uint64_t ticks = 0, base_ns = 0;
  bool news = false;
  {
    Try turn(timer);
    if (!turn || !timer.begun || !both(timer).known()) return 0;
    now = estimate(timer);
    base_ns = timer.base_ns;
    ticks = static_cast<std::uint64_t>(now.ticks + in_ticks(timer, since_base(timer, timer_ns)));
    std::uint64_t told = timer.told_error_ns;
    news = !told || now.error_ns < told / kBetter || now.error_ns > told;
    if (news) timer.told_error_ns = now.error_ns;
  }
  if (news) tell(file, device, base_ns, now);
  return ticks;
}

void forget_timers() {
  for (Timer& timer : timers) timer = Timer{};
}

}  // namespace ddpscope::injector::profiler
