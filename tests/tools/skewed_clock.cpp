// A mock, preloaded by tests: the clocks of another host. All of a program's clocks drift by SKEWED_CLOCK_PPM
// from the moment SKEWED_CLOCK_FROM on ("MONOTONIC REALTIME", ns), the wall clock is SKEWED_CLOCK_WALL_NS
// ahead besides, and SKEWED_CLOCK_STEP ("AFTER BY", ns) sets all clocks forward or back once. What the kernel
// measures (timeouts, times of files, absolute deadlines) and the time stamp counter stay as they are.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
using ClockGetTime = int (*)(clockid_t, timespec*);

struct Skew {
  double rate = 0;
  long long wall_ns = 0, monotonic_from = 0, wall_from = 0, step_after = 0, step_by = 0;
};

ClockGetTime real = nullptr;
Skew skew;

// Others' constructors may ask for the time before this one has run.
__attribute__((constructor)) void prepare() {
  if (real) return;
  if (const char* ppm = getenv("SKEWED_CLOCK_PPM")) skew.rate = strtod(ppm, nullptr) * 1e-6;
  if (const char* wall = getenv("SKEWED_CLOCK_WALL_NS")) skew.wall_ns = strtoll(wall, nullptr, 10);
  if (const char* from = getenv("SKEWED_CLOCK_FROM"))
    if (sscanf(from, "%lld %lld", &skew.monotonic_from, &skew.wall_from) != 2) skew.rate = 0;
  if (const char* step = getenv("SKEWED_CLOCK_STEP"))
    if (sscanf(step, "%lld %lld", &skew.step_after, &skew.step_by) != 2) skew.step_by = 0;
  real = reinterpret_cast<ClockGetTime>(dlsym(RTLD_NEXT, "clock_gettime"));
}

int skewed(clockid_t clock, timespec* time) {
  prepare();
  const int result = real(clock, time);
  const bool wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  const bool monotonic = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE ||
                         clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_BOOTTIME;
  if (result != 0 || (!wall && !monotonic)) return result;
  const std::int64_t now = time->tv_sec * kSecond + time->tv_nsec;
  const double passed = static_cast<double>(now - (wall ? skew.wall_from : skew.monotonic_from));
  const std::int64_t step = passed >= static_cast<double>(skew.step_after) ? skew.step_by : 0;
  const std::int64_t shown = now + std::llround(passed * skew.rate) + (wall ? skew.wall_ns : 0) + step;
  time->tv_sec = shown / kSecond;
  time->tv_nsec = shown % kSecond;
  return 0;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* time) noexcept {
  return skewed(clock, time);
}

extern "C" [[gnu::visibility("default")]] int gettimeofday(timeval* time, void*) noexcept {
  timespec now;
  const int result = skewed(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return result;
}

extern "C" [[gnu::visibility("default")]] time_t time(time_t* stored) noexcept {
  timespec now{};
  skewed(CLOCK_REALTIME, &now);
  if (stored) *stored = now.tv_sec;
  return now.tv_sec;
}
