// Where recordings of tests live.
#include "tests/unit/trace/recording.h"

#include <atomic>
#include <cstring>

namespace ddpscope::trace {
namespace {

std::atomic<std::uint64_t> ticks{1'000'000'000};

ClockTuple now() {
  std::uint64_t tick = next_tick();
  return {tick, tick, 1'700'000'000'000'000'000u + tick};
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "ddpscope-test-XXXXXX").string();
  if (!mkdtemp(name.data())) ADD_FAILURE() << "cannot make " << name;
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::uint64_t next_tick() { return ticks.fetch_add(1, std::memory_order_relaxed); }

Clock test_clock() { return {ClockKind::kMonotonicNs, 1'000'000'000, now}; }

Identity test_identity() {
  Identity identity{};
  identity.host_id = 0x1234;
  std::strcpy(identity.host, "host");
  identity.pid = 42;
  identity.parent_pid = 41;
  identity.start_time = 777;
  identity.parent_start_time = 666;
  return identity;
}

Recording::Recording(std::uint64_t ring_bytes) : file_(std::make_unique<FileWriter>()), thread_{} {
  EXPECT_TRUE(file_->open(folder_.path().c_str(), test_identity(), test_clock(), ring_bytes, false));
}

OpenRecord Recording::open_kept(ThreadWriter& thread, std::uint64_t count) {
  payload::Collective payload{};
  payload.count = count;
  return thread.open<Call::ncclAllReduce>(*file_, payload, next_tick());
}

OpenRecord Recording::open_bulk(ThreadWriter& thread, std::uint64_t bytes) {
  payload::Copy payload{};
  payload.bytes = bytes;
  return thread.open<Call::cudaMemcpyAsync>(*file_, payload, next_tick());
}

TraceFile Recording::read() const {
  auto trace = TraceFile::open(file_->path());
  if (!trace) throw std::runtime_error(trace.error().what);
  return std::move(*trace);
}

std::vector<Record> all_records(const TraceFile& trace) {
  std::vector<Record> all;
  for (const RecordSpan& span : trace.records())
    for (const Record& record : span.records) all.push_back(record);
  return all;
}

}  // namespace ddpscope::trace
