// Events at a steady pace with drawn jitter, so that no two of a track overlap.
#include "tests/tools/generated_merged.h"

#include <algorithm>
#include <string>

#include "collector/merged/process_tables.h"
#include "collector/merged/writer.h"
#include "collector/model/job.h"
#include "trace/calls.h"
#include "trace/device_work.h"

namespace ddpscope::tests {
namespace {

using namespace merged;

constexpr std::int64_t kPace = 25'000;          // ns from one event of a track to the next, on average
constexpr std::uint64_t kCollectiveEvery = 32;  // events of the first stream

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t end) { return next() % end; }

 private:
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  std::uint64_t state_;
};

struct Drawn {
  std::uint32_t rank, track;
  std::uint64_t index;
  std::uint32_t finding;
};

class Generator {
 public:
  Generator(const MergedShape& shape, Writer& writer, std::uint64_t per_track)
      : shape_(shape), writer_(writer), per_track_(per_track), ranks_(shape.rows / shape.tracks) {}

  GeneratedMerged run();
  std::optional<Error> finish();

 private:
  void draw_findings();
  void write_rank(std::uint32_t rank);
  void write_track(std::uint32_t rank, std::uint32_t number);
  std::uint32_t name_for(std::uint32_t number, std::uint64_t index, Dice& dice);
  Slot slot_for(std::uint32_t number, std::uint64_t index, std::uint32_t name, Dice& dice);
  void note_evidence(std::uint32_t rank, std::uint32_t number, EventPlace place, const Event& event);
  void write_collectives();
  Facts facts() const;

  bool is_stream(std::uint32_t number) const { return number >= 2 || shape_.tracks == 1; }

  const MergedShape& shape_;
  Writer& writer_;
  std::uint64_t per_track_;
  std::uint32_t ranks_;
  std::vector<Drawn> drawn_;
  std::vector<Mark> marks_;
  findings::Outcome outcome_;
  GeneratedMerged generated_;
  CallSlot call_slot_{};
  DeviceSlot device_slot_{};
  // Of the collectives: times of the first stream of each rank, and where they stand.
  struct Met {
    std::int64_t begin_ns, end_ns;
  };
  std::vector<std::vector<Met>> met_;  // by rank
  std::vector<std::uint32_t> first_stream_;
};

void Generator::draw_findings() {
  Dice dice(shape_.seed ^ 0xf17d);
  for (std::uint32_t i = 0; i < shape_.findings; ++i) {
    Drawn drawn{static_cast<std::uint32_t>(dice.below(ranks_)),
                static_cast<std::uint32_t>(dice.below(shape_.tracks)), dice.below(per_track_), i};
    drawn_.push_back(drawn);
    findings::Finding finding;
    finding.slug = i % 2 ? "straggler" : "skipped-barrier";
    finding.severity = i % 2 ? findings::Severity::kWarning : findings::Severity::kError;
    finding.title = "drawn: rank " + std::to_string(drawn.rank);
    finding.ranks = {static_cast<std::int32_t>(drawn.rank)};
    finding.id = "drawn-" + std::to_string(i);
    finding.advice = "none: it is made up";
    outcome_.findings.push_back(finding);
  }
}

std::uint32_t Generator::name_for(std::uint32_t number, std::uint64_t index, Dice& dice) {
  if (number == 0 && shape_.tracks > 1) {
    constexpr const char* kCalls[] = {"cudaLaunchKernel", "cudaLaunchKernel", "cudaLaunchKernel",
                                      "cudaEventRecord"};
    if (index % kCollectiveEvery == 7) return writer_.name("ncclAllReduce", Kind::kCollective);
    if (index % kCollectiveEvery == 31) return writer_.name("cudaStreamSynchronize", Kind::kWait);
    return writer_.name(kCalls[dice.below(4)], Kind::kEnqueue);
  }
  if (number == 1 && shape_.tracks > 1) {
    if (index % 64 == 63) return writer_.name("write", Kind::kFileWrite);
    return index % 8 ? writer_.name("read", Kind::kFileRead) : writer_.name("open", Kind::kTick);
  }
  if (index % kCollectiveEvery == 31) return writer_.name("all-reduce", Kind::kCollective);
  constexpr const char* kKernels[] = {"gemm",    "relu", "layer_norm", "softmax",
                                      "dropout", "add",  "gelu",       "adam"};
  std::uint64_t kernel = dice.below(8);
  return writer_.name(kKernels[kernel], kernel == 7 ? Kind::kOptimizer : Kind::kCompute);
}

Slot Generator::slot_for(std::uint32_t number, std::uint64_t index, std::uint32_t name, Dice& dice) {
  if (is_stream(number)) {
    device_slot_ = {};
    device_slot_.subject = name + 1;
    device_slot_.called_ns = static_cast<std::int64_t>(index) * kPace;
    device_slot_.stream = number;
    device_slot_.thread = 1;
    device_slot_.kind = static_cast<std::uint8_t>(trace::DeviceWorkKind::kKernel);
    return slot_of(device_slot_);
  }
  call_slot_ = {};
  call_slot_.call =
      static_cast<std::uint16_t>(number == 1 ? trace::Call::read : trace::Call::cudaLaunchKernel);
  call_slot_.thread = 1;
  std::uint64_t bytes = dice.below(65536);
  std::memcpy(call_slot_.payload + 16, &bytes, sizeof(bytes));
  return slot_of(call_slot_);
}

void Generator::note_evidence(std::uint32_t rank, std::uint32_t number, EventPlace place,
                              const Event& event) {
  for (const Drawn& drawn : drawn_) {
    if (drawn.rank != rank || drawn.track != number || drawn.index != place.index) continue;
    findings::Finding& finding = outcome_.findings[drawn.finding];
    finding.first_ns = event.begin_ns;
    finding.last_ns = event.end_ns;
    findings::Evidence evidence;
    evidence.rank = static_cast<std::int32_t>(rank);
    evidence.process =
        "node" + std::to_string(rank / shape_.ranks_per_host) + ":" + std::to_string(10'000 + rank);
    evidence.t_ns = event.begin_ns;
    evidence.detail = "drawn";
    evidence.stack = {"train.py:88 step"};
    finding.evidence.push_back(evidence);
    auto severity = static_cast<std::uint8_t>(1 + static_cast<unsigned>(finding.severity));
    marks_.push_back({place, drawn.finding, 0, severity});
    generated_.evidence.push_back({drawn.finding, evidence.rank, event.begin_ns, event.end_ns});
  }
}

void Generator::write_track(std::uint32_t rank, std::uint32_t number) {
  Track track;
  track.rank_row = rank;
  track.process = rank;
  bool stream = is_stream(number);
  track.kind = stream ? TrackKind::kStream : number ? TrackKind::kFiles : TrackKind::kHost;
  track.lane = stream ? number : 1;
  track.label = stream ? "stream " + std::to_string(number) : "main";
  std::uint32_t handle = writer_.open_track(track);
  bool first_stream = number == (shape_.tracks == 1 ? 0u : 2u);
  if (first_stream) first_stream_[rank] = handle;
  Dice dice(shape_.seed * 1'000'003 + std::uint64_t{rank} * 257 + number);
  for (std::uint64_t index = 0; index < per_track_; ++index) {
    Event event;
    event.begin_ns =
        static_cast<std::int64_t>(index) * kPace + static_cast<std::int64_t>(dice.below(kPace / 4));
    event.end_ns = event.begin_ns + static_cast<std::int64_t>(dice.below(kPace * 3 / 4));
    event.name = name_for(number, index, dice);
    EventPlace place = writer_.add(handle, event, slot_for(number, index, event.name, dice));
    note_evidence(rank, number, place, event);
    if (first_stream && index % kCollectiveEvery == 31) met_[rank].push_back({event.begin_ns, event.end_ns});
  }
}

void Generator::write_rank(std::uint32_t rank) {
  for (std::uint32_t number = 0; number < shape_.tracks; ++number) write_track(rank, number);
  writer_.close_rank(rank, true);
}

void Generator::write_collectives() {
  CommunicatorRow row;
  row.id = 0xddb5;
  row.size = static_cast<std::int32_t>(ranks_);
  row.name = "world";
  for (std::uint32_t rank = 0; rank < ranks_; ++rank)
    row.members.push_back(
        {static_cast<std::int32_t>(rank), static_cast<std::int32_t>(rank), rank, met_[rank].size()});
  writer_.begin_communicator(row);
  for (std::size_t i = 0; i < met_[0].size(); ++i) {
    Collective collective;
    collective.sequence = i;
    collective.signatures.push_back({trace::Operation::kAllReduce, 7, 0, -1, 262'144});
    collective.flags = kTimed;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      Arrival arrival;
      arrival.arrival_ns = met_[rank][i].begin_ns - 1000;
      arrival.begin_ns = met_[rank][i].begin_ns;
      arrival.end_ns = met_[rank][i].end_ns;
      arrival.flags = kTimed;
      arrival.event = writer_.settled({first_stream_[rank], i * kCollectiveEvery + 31});
      collective.arrivals.push_back(arrival);
    }
    writer_.add_collective(collective);
  }
}

Facts Generator::facts() const {
  Facts facts;
  facts.job.source = "generated";
  facts.job.version = "0";
  facts.job.duration_ns = generated_.duration_ns;
  facts.job.calls = generated_.events;
  facts.job.world_size = facts.job.ranks = facts.job.processes = static_cast<std::int32_t>(ranks_);
  facts.job.gpu_timing = "cupti";
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    std::uint32_t host = rank / shape_.ranks_per_host;
    if (host == facts.hosts.size()) facts.hosts.push_back({"node" + std::to_string(host), host, host, 0, {}});
    facts.hosts[host].ranks.push_back(rank);
    ProcessRow process;
    process.name = facts.hosts[host].name + ":" + std::to_string(10'000 + rank);
    process.pid = static_cast<std::int32_t>(10'000 + rank);
    process.host = host;
    process.rank = static_cast<std::int32_t>(rank);
    process.role = "rank";
    RankRow row;
    row.rank = process.rank;
    row.host = host;
    row.process = process.name;
    row.role = "rank";
    row.device = "cuda:" + std::to_string(rank % shape_.ranks_per_host);
    row.last_ns = generated_.duration_ns;
    facts.processes.push_back(process);
    facts.ranks.push_back(row);
  }
  return facts;
}

GeneratedMerged Generator::run() {
  draw_findings();
  met_.resize(ranks_);
  first_stream_.resize(ranks_);
  generated_.events = per_track_ * shape_.rows;
  generated_.ranks = static_cast<std::int32_t>(ranks_);
  generated_.duration_ns = static_cast<std::int64_t>(per_track_) * kPace;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) write_rank(rank);
  ProcessTables tables;
  constexpr std::uint32_t kNames = 64;
  for (std::uint32_t i = 1; i < kNames; ++i) tables.set_string(i, "kernel " + std::to_string(i));
  tables.set_communicator(1, 0, 0);
  ByteWriter bytes;
  tables.put(bytes);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) writer_.add_process(rank, bytes.bytes());
  writer_.settle();
  write_collectives();
  return generated_;
}

std::optional<Error> Generator::finish() {
  for (Mark& mark : marks_) mark.event = writer_.settled(mark.event);
  return writer_.finish({facts(), {std::move(outcome_), std::move(marks_), {}, {}}});
}

}  // namespace

Result<GeneratedMerged> generate_merged(const MergedShape& given, const std::filesystem::path& file) {
  MergedShape shape = given;
  shape.tracks = std::clamp<std::uint32_t>(shape.tracks, 1, shape.rows);
  shape.rows -= shape.rows % shape.tracks;
  shape.ranks_per_host = std::max<std::uint32_t>(shape.ranks_per_host, 1);
  std::uint64_t per_track = std::max<std::uint64_t>(shape.events / shape.rows, 1);
  auto writer = Writer::create(file, {static_cast<std::int64_t>(per_track) * kPace, per_track * shape.rows,
                                      shape.rows / shape.tracks});
  if (!writer) return writer.error();
  Generator generator(shape, *writer, per_track);
  GeneratedMerged generated = generator.run();
  if (auto error = generator.finish()) return *error;
  return generated;
}

}  // namespace ddpscope::tests
