// The injected clock stands still between two calls: chunks are opened at the time of what is written.
#include "tests/tools/trace_scribe.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trace/fields.h"

namespace ddpscope::tests {
namespace {

constexpr std::int64_t kBootToJobNs = 1'000'000'000'000;             // hosts are up for 1000 s
constexpr std::int64_t kJobStartUnixNs = 1'700'000'000'000'000'000;  // any fixed date
constexpr std::int64_t kNsPerStartTick = 10'000'000;                 // of /proc/PID/stat: USER_HZ is 100

thread_local trace::ClockTuple now;  // what FileWriter's clock, a plain function, returns

std::uint64_t start_ticks(std::int64_t time_ns) {
  return static_cast<std::uint64_t>((kBootToJobNs + time_ns) / kNsPerStartTick);
}

trace::Identity full_identity(const ScribeIdentity& of) {
  trace::Identity identity{};
  identity.host_id = trace::hash_bytes(of.host.data(), of.host.size());
  std::memcpy(identity.host, of.host.data(), std::min(of.host.size(), sizeof(identity.host) - 1));
  identity.pid = of.pid;
  identity.parent_pid = of.parent_pid;
  identity.start_time = start_ticks(of.start_ns);
  identity.parent_start_time = of.parent_pid ? start_ticks(of.parent_start_ns) : 0;
  return identity;
}

}  // namespace

std::optional<Error> prepare_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{"cannot make the folder: " + error.message(), folder.string(), {}};
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == trace::kFileSuffix)
      return Error{"the folder already holds traces", folder.string(), "name an empty folder"};
  return std::nullopt;
}

std::uint64_t HostClock::ticks(std::int64_t time_ns) const {
  auto drift = std::llround(static_cast<double>(time_ns) * drift_ppm * 1e-6);
  return static_cast<std::uint64_t>(kBootToJobNs + monotonic_offset_ns + time_ns + drift);
}

trace::ClockTuple HostClock::tuple(std::int64_t time_ns) const {
  return {ticks(time_ns), ticks(time_ns),
          static_cast<std::uint64_t>(kJobStartUnixNs + realtime_offset_ns + time_ns)};
}

Result<std::unique_ptr<TraceScribe>> TraceScribe::create(const std::filesystem::path& folder,
                                                         const ScribeIdentity& identity) {
  std::unique_ptr<TraceScribe> scribe(new TraceScribe);
  scribe->file_ = std::make_unique<trace::FileWriter>();
  scribe->clock_ = identity.clock;
  scribe->folds_ = identity.folds;
  now = identity.clock.tuple(identity.began_ns());
  trace::Clock clock{trace::ClockKind::kMonotonicNs, 1'000'000'000, [] { return now; }};
  if (!scribe->file_->open(folder.c_str(), full_identity(identity), clock, identity.ring_bytes, false))
    return Error{"cannot create a trace file", folder.string(), "is the folder writable?"};
  scribe->thread(1).write_schema(*scribe->file_, trace::kSchemaText, trace::kSchemaBytes);
  return scribe;
}

// Numbers are given in order of first use, so all lower ones are taken first.
trace::ThreadWriter& TraceScribe::thread(std::uint16_t number) {
  while (threads_.size() < number) threads_.emplace_back().number(*file_);
  return threads_[number - 1u];
}

bool TraceScribe::write(std::uint16_t number, trace::Call call, const void* payload, std::int64_t begin_ns,
                        std::int64_t end_ns, std::uint32_t stack) {
  now = clock_.tuple(begin_ns);
  const trace::CallInfo* info = trace::find_call(static_cast<std::uint16_t>(call));
  bool regular = folds_ && trace::is_numbered(info->payload);
  trace::OpenRecord open = thread(number).open_in(
      *file_, call, info->budget, payload, trace::info_of(info->payload).bytes, now.ticks, stack, regular);
  if (open && end_ns != kInside) trace::ThreadWriter::close(*file_, open, clock_.ticks(end_ns));
  return static_cast<bool>(open);
}

bool TraceScribe::write_item(std::uint16_t number, const trace::ItemRead& item, std::int64_t time_ns) {
  now = clock_.tuple(time_ns);
  return thread(number).add_item(*file_, item);
}

bool TraceScribe::write_device_work(std::uint16_t number, trace::DeviceWork work, std::int64_t begin_ns,
                                    std::int64_t end_ns) {
  now = clock_.tuple(end_ns);
  work.begin = clock_.ticks(begin_ns);
  work.duration = static_cast<float>(clock_.ticks(end_ns) - work.begin);
  bool kept = work.kind == trace::DeviceWorkKind::kCollective;
  return thread(number).add_device_work(*file_, work, kept ? trace::Budget::kKept : trace::Budget::kBulk);
}

std::uint32_t TraceScribe::intern(std::uint16_t number, std::string_view text) {
  return thread(number).intern(*file_, text.data(), text.size());
}

std::uint32_t TraceScribe::intern_stack(std::uint16_t number, const std::vector<PythonFrame>& frames) {
  std::vector<trace::StackFrame> stored;
  for (const PythonFrame& frame : frames)
    stored.push_back({trace::FrameKind::kPython, intern(number, frame.file), intern(number, frame.function),
                      frame.line, 0});
  return thread(number).intern_stack(*file_, stored.data(), stored.size());
}

}  // namespace ddpscope::tests
