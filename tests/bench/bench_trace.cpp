// What a record costs the guest, and how fast a trace is read. docs/measurements.md keeps the figures.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "tests/bench/latencies.h"
#include "trace/read/trace_file.h"
#include "trace/write/thread_writer.h"

namespace ddpscope::bench {
namespace {

constexpr std::size_t kCalls = 1'000'000;

// A trace file of this process in a folder of its own, gone with the object.
class Recording {
 public:
  explicit Recording(const std::filesystem::path& parent) : file_(std::make_unique<trace::FileWriter>()) {
    std::string name = (parent / "ddpscope-bench-XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    folder_ = name;
    trace::Identity identity{};
    std::strcpy(identity.host, "bench");
    identity.pid = getpid();
    if (!file_->open(folder_.c_str(), identity, trace::host_clock(), trace::kDefaultRingBytes, true))
      std::abort();
  }
  ~Recording() { std::filesystem::remove_all(folder_); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  trace::FileWriter& file() { return *file_; }

  // Of a call that `kinds` calls share in turn.
  void record(std::uint64_t i, std::uint64_t kinds) {
    trace::payload::Collective payload{};
    payload.communicator = 1;
    payload.sequence = static_cast<std::uint32_t>(i);
    payload.count = i % kinds;
    trace::OpenRecord open = thread_.open_regular<trace::Call::ncclAllReduce>(*file_, payload, __rdtsc());
    trace::ThreadWriter::close(*file_, open, __rdtsc());
  }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<trace::FileWriter> file_;
  trace::ThreadWriter thread_;
};

std::uint64_t lost(trace::FileWriter& file) {
  return file.header().health[static_cast<int>(trace::Health::kept_records_lost)];
}

void add_columns(benchmark::State& state, const Latencies& latencies) {
  Summary summary = latencies.summary();
  state.counters["p50"] = summary.p50;
  state.counters["p99"] = summary.p99;
  state.counters["p99.9"] = summary.p999;
  state.counters["max"] = summary.max;
  state.counters["mean"] = summary.mean;
  state.counters["processor"] = summary.processor;
}

// The machine's own hiccups: the same loop with nothing in it.
void idle(benchmark::State& state) {
  for (auto _ : state) {
    Latencies latencies(kCalls);
    latencies.time(kCalls, [](std::size_t) {});
    add_columns(state, latencies);
  }
}

constexpr std::uint64_t kAllDiffer = kCalls;  // nothing folds
constexpr std::uint64_t kBuckets = 25;        // of a model: after the first step everything folds

// One collective opened and closed.
void record(benchmark::State& state, const std::filesystem::path& parent, std::uint64_t kinds) {
  for (auto _ : state) {
    Recording recording(parent);
    Latencies latencies(kCalls);
    latencies.time(kCalls, [&recording, kinds](std::size_t i) { recording.record(i, kinds); });
    add_columns(state, latencies);
    state.counters["lost"] = static_cast<double>(lost(recording.file()));
    state.counters["bytes"] =
        static_cast<double>(recording.file().header().file_bytes) / static_cast<double>(kCalls);
  }
}

// What 4,096 records share.
void open_chunk(benchmark::State& state, const std::filesystem::path& parent) {
  Recording recording(parent);
  for (auto _ : state)
    benchmark::DoNotOptimize(
        recording.file().open_chunk(trace::ChunkKind::kRecords, 1, trace::kMaxChunkBytes));
}

// The same, with a chunk that is used again.
void move_out(benchmark::State& state, const std::filesystem::path& parent) {
  Recording recording(parent);
  trace::ChunkHeader* chunk =
      recording.file().open_chunk(trace::ChunkKind::kRecords, 1, trace::kMaxChunkBytes);
  for (auto _ : state)
    if (!chunk || !recording.file().move_out(chunk)) return state.SkipWithError("no room");
}

// Every record of a file seen once.
void read(benchmark::State& state, std::uint64_t kinds) {
  Recording recording("/dev/shm");
  for (std::size_t i = 0; i < kCalls; ++i) recording.record(i, kinds);
  for (auto _ : state) {
    auto trace = trace::TraceFile::open(recording.file().path());
    std::uint64_t sum = 0;
    for (const trace::RecordSpan& span : trace->records())
      for (const trace::Record& one : span.records) sum += one.end - one.begin;
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kCalls));
}

}  // namespace
}  // namespace ddpscope::bench

int main(int argc, char** argv) {
  using namespace ddpscope::bench;
  benchmark::Initialize(&argc, argv);
  std::filesystem::path disk = argc > 1 ? argv[1] : ".";
  benchmark::RegisterBenchmark("idle", idle)->Iterations(1)->Unit(benchmark::kMillisecond);
  const std::pair<const char*, std::filesystem::path> places[] = {{"tmpfs", "/dev/shm"}, {"disk", disk}};
  for (const auto& [name, run] : {std::pair{"open_chunk/", &open_chunk}, std::pair{"move_out/", &move_out}})
    for (const auto& [place, parent] : places)
      benchmark::RegisterBenchmark(
          (std::string(name) + place).c_str(),
          [parent = parent, run = run](benchmark::State& state) { run(state, parent); })
          ->Iterations(250)
          ->Unit(benchmark::kMicrosecond);
  for (const auto& [kind, kinds] : {std::pair{"differing", kAllDiffer}, std::pair{"regular", kBuckets}}) {
    for (const auto& [place, parent] : places)
      benchmark::RegisterBenchmark(
          (std::string("record/") + kind + "/" + place).c_str(),
          [parent = parent, kinds = kinds](benchmark::State& state) { record(state, parent, kinds); })
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark((std::string("read/") + kind).c_str(), [kinds =
                                                                             kinds](benchmark::State& state) {
      read(state, kinds);
    })->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
}
