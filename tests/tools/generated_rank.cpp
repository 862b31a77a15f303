// Fills in payloads as the injector would.
#include "tests/tools/generated_rank.h"

#include <fcntl.h>

#include "tests/tools/text_stack.h"
#include "trace/hand_overs.h"

namespace ddpscope::tests {

using trace::Call;

namespace {

constexpr std::uint64_t kDevice = 0x801;  // of the file system
constexpr std::uint8_t kFloat32 = 7;
constexpr std::uint8_t kHostToDevice = 1, kDeviceToHost = 2;

}  // namespace

std::uint32_t GeneratedRank::stack(std::string_view place) {
  if (place.empty()) return 0;
  std::uint32_t& id = stacks_[place];
  if (!id) id = scribe_->intern_stack(1, parse_stack(place));
  return id;
}

void GeneratedRank::join(std::uint32_t ranks, std::uint64_t id) {
  auto device = static_cast<std::uint8_t>(rank_ % 8);
  record<Call::cudaSetDevice>({0xD0D0, rank_ + 1u, device, 1, 0}, 1'000);
  for (std::uint64_t stream : {kComputeStream, kReduceStream})
    record<Call::cudaStreamCreate>({stream, 0, 0, 1, device, 0, 0}, 5'000);
  record<Call::ncclCommInitRank>(
      {id, 0x7000, 1, 0, static_cast<std::int32_t>(rank_), static_cast<std::int32_t>(ranks), 0, device, 0},
      50'000'000);
}

void GeneratedRank::all_reduce(std::uint64_t count, std::string_view place, std::uint64_t stream) {
  record<Call::ncclAllReduce>({1, sequence_++, count, stream, 0x5000 + count, -1, kFloat32, 0,
                               static_cast<std::uint8_t>(rank_ % 8), 0},
                              12'000, place);
  if (timed_) enqueued_ns_.push_back(now_ns_);
}

void GeneratedRank::broadcast(std::uint64_t count) {
  record<Call::ncclBroadcast>(
      {1, sequence_++, count, kReduceStream, 0x6000, 0, kFloat32, 0, static_cast<std::uint8_t>(rank_ % 8), 0},
      12'000);
}

void GeneratedRank::tell_timing() {
  timed_ = true;
  record<Call::device_timing>({scribe_->intern(1, "events"), 0}, 0);
}

void GeneratedRank::finish_collectives(const std::vector<std::int64_t>& ends_ns) {
  auto sequence = sequence_ - static_cast<std::uint32_t>(ends_ns.size());
  for (std::size_t i = 0; i < ends_ns.size(); ++i, ++sequence) {
    trace::DeviceWork work{};
    work.subject = std::uint64_t{sequence} << 32 | 1;
    work.kind = trace::DeviceWorkKind::kCollective;
    work.device = static_cast<std::uint8_t>(rank_ % 8);
    std::int64_t begin_ns = std::max(enqueued_ns_[i], device_free_ns_);
    complete_ &= scribe_->write_device_work(1, work, begin_ns, device_free_ns_ = ends_ns[i]);
  }
  enqueued_ns_.clear();
}

void GeneratedRank::launch(std::uint32_t times) {
  static constexpr const char* kNames[] = {"_Z4gemmPKfS0_Pfi", "_Z4reluPfi", "_Z7softmaxPfi"};
  for (std::uint32_t i = 0; i < times; ++i) launch(0x4000 + i % 3, kNames[i % 3]);
}

void GeneratedRank::update() { launch(0x4003, "_Z5adamwPfPKfi"); }

void GeneratedRank::launch(std::uint64_t function, const char* name) {
  record<Call::cudaLaunchKernel>({function, kComputeStream, scribe_->intern(1, name), 1, 128, 256,
                                  static_cast<std::uint8_t>(rank_ % 8), 0, 0},
                                 4'000);
}

void GeneratedRank::copy_to_device(std::uint64_t bytes) {
  record<Call::cudaMemcpyAsync>(
      {0x8000, 0x9000, bytes, kComputeStream, 1, kHostToDevice, static_cast<std::uint8_t>(rank_ % 8), 0},
      6'000, kLoad);
}

void GeneratedRank::copy_to_host(std::uint64_t bytes) {
  record<Call::cudaMemcpyAsync>(
      {0x9000, 0x8000, bytes, kComputeStream, 1, kDeviceToHost, static_cast<std::uint8_t>(rank_ % 8), 0},
      6'000);
}

void GeneratedRank::wait_for_stream(std::uint64_t stream, std::int64_t until_ns) {
  std::int64_t ns =
      until_ns == TraceScribe::kInside ? until_ns : std::max<std::int64_t>(until_ns - now_ns_, 1'000);
  record<Call::cudaStreamSynchronize>({stream, 0, 0, 1, static_cast<std::uint8_t>(rank_ % 8), 0, 0}, ns);
}

std::uint32_t GeneratedRank::open(const std::string& path, std::uint64_t inode, bool write,
                                  std::string_view place) {
  std::uint32_t flags = write ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY;
  std::uint32_t file = ++files_;
  record<Call::open>({kDevice, inode, scribe_->intern(1, path), static_cast<std::int32_t>(file + 10), flags,
                      write ? 0644u : 0u, 0, file},
                     20'000, place);
  return file;
}

void GeneratedRank::write_file(std::uint32_t file, std::uint64_t offset, std::uint64_t bytes) {
  record<Call::write>({file, static_cast<std::int32_t>(file + 10), offset, bytes, offset + bytes, 1, 0},
                      static_cast<std::int64_t>(bytes / 2));
  record<Call::digest>({file, 4096, offset, bytes, (offset + 1) * 0x9E3779B97F4A7C15u ^ bytes}, 1'000);
}

void GeneratedRank::read_file(std::uint32_t file, std::uint64_t offset, std::uint64_t bytes) {
  record<Call::pread64>({file, static_cast<std::int32_t>(file + 10), offset, bytes, offset + bytes, 1, 0},
                        3'000, kLoad);
}

void GeneratedRank::close(std::uint32_t file) {
  record<Call::close>({file, static_cast<std::int32_t>(file + 10), 0, 0, 0, 1, 0}, 2'000);
}

void GeneratedRank::rename(const std::string& from, const std::string& to, std::uint64_t inode) {
  record<Call::rename>({kDevice, inode, 0, scribe_->intern(1, from), scribe_->intern(1, to), 1, 0}, 15'000,
                       kSave);
}

void GeneratedRank::start_thread() { record<Call::pthread_create>({0x7000, 2, 0}, 20'000, kPrepare); }

void GeneratedRank::hand_over_and_back() {
  constexpr std::uint64_t kCondition = 0xC0DE;
  for (std::uint16_t taker : {2, 1}) {
    trace::payload::HandOver taken{};
    taken.object = kCondition;
    taken.from_ticks = scribe_->ticks(now_ns_);
    taken.from_thread = 3u - taker;
    taken.module = scribe_->intern(taker, "/usr/lib/libqueue.so");
    taken.site = 0x1234;
    taken.kind = static_cast<std::uint8_t>(trace::HandOverKind::kCondition);
    record<Call::pthread_cond_wait>(taken, 2'000, {}, taker);
  }
}

namespace {

// Of the socket from a rank to the next: its two ends.
constexpr std::uint64_t sending_end(std::uint32_t rank) { return 100'000 + 2ull * rank; }
constexpr std::uint64_t receiving_end(std::uint32_t rank) { return sending_end(rank) + 1; }
std::string address(std::uint32_t rank, const char* port) { return "10.0.0." + std::to_string(rank) + port; }

}  // namespace

void GeneratedRank::connect(std::uint32_t ranks) {
  std::uint32_t previous = (rank_ + ranks - 1) % ranks, next = (rank_ + 1) % ranks;
  trace::payload::Connection connection{};
  connection.inode = sending_end(rank_);
  connection.local = scribe_->intern(1, address(rank_, ":5000"));
  connection.peer = scribe_->intern(1, address(next, ":4000"));
  record<Call::connect>(connection, 50'000);
  connection.inode = receiving_end(previous);
  connection.local = scribe_->intern(1, address(rank_, ":4000"));
  connection.peer = scribe_->intern(1, address(previous, ":5000"));
  record<Call::accept>(connection, 50'000);
  previous_ = previous;
}

void GeneratedRank::send(std::uint64_t bytes) {
  record<Call::send>({sending_end(rank_), sent_, bytes, 1, 5, 0, 0}, 5'000);
  sent_ += bytes;
}

void GeneratedRank::receive(std::uint64_t bytes) {
  record<Call::recv>({receiving_end(previous_), received_, bytes, 1, 6, 0, 0}, 5'000);
  received_ += bytes;
}

void GeneratedRank::exit(int code) {
  record<Call::exit>({0, 0, code, 0, 0, 0}, 1'000);
  scribe_->header().ended = 1;
  scribe_->header().exit_code = code;
}

}  // namespace ddpscope::tests
