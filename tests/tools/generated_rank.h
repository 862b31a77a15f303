// One rank of a generated job: its clock, and the calls that a training step is made of.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/trace_scribe.h"

namespace ddpscope::tests {

// A place in the user's program, innermost frame first: "train.py:88 prepare_data < train.py:300 main".
inline constexpr std::string_view kPrepare = "train.py:88 prepare_data < train.py:300 main";
inline constexpr std::string_view kBarrier = "train.py:95 barrier < train.py:300 main";
inline constexpr std::string_view kLoad = "train.py:120 load_batch < train.py:310 main";
inline constexpr std::string_view kBackward = "train.py:150 backward < train.py:310 main";
inline constexpr std::string_view kSave = "train.py:210 save_checkpoint < train.py:330 main";
inline constexpr std::string_view kSaveBarrier = "train.py:222 barrier < train.py:330 main";

class GeneratedRank {
 public:
  static constexpr std::uint64_t kComputeStream = 0x10;
  static constexpr std::uint64_t kReduceStream = 0x20;

  GeneratedRank(std::unique_ptr<TraceScribe> scribe, std::uint32_t rank, std::uint64_t seed)
      : scribe_(std::move(scribe)), rank_(rank), random_(seed * 1'000'003 + rank) {}

  std::uint32_t rank() const { return rank_; }
  std::int64_t now_ns() const { return now_ns_; }
  std::uint64_t records() const { return records_; }
  bool complete() const { return complete_; }  // false: a record found no room

  void join(std::uint32_t ranks, std::uint64_t id);  // device, streams, communicator
  void all_reduce(std::uint64_t count, std::string_view place, std::uint64_t stream);
  void broadcast(std::uint64_t count);
  void tell_timing();  // that collectives are timed by events
  // When each collective since then was enqueued that is not finished yet, in order.
  const std::vector<std::int64_t>& unfinished() const { return enqueued_ns_; }
  std::int64_t device_free_ns() const { return device_free_ns_; }
  // They are done on the device, as timed by event pairs: each begins when it could, and ends at these times.
  void finish_collectives(const std::vector<std::int64_t>& ends_ns);
  void launch(std::uint32_t times);
  void update();  // the optimizer's kernel
  void copy_to_device(std::uint64_t bytes);
  void copy_to_host(std::uint64_t bytes);

  // The host waits until `until_ns`; kInside: for ever.
  void wait_for_stream(std::uint64_t stream, std::int64_t until_ns);

  // A file, opened for writing (made, cut) or for reading; number of the opening.
  std::uint32_t open(const std::string& path, std::uint64_t inode, bool write, std::string_view place);
  void write_file(std::uint32_t file, std::uint64_t offset, std::uint64_t bytes);
  void read_file(std::uint32_t file, std::uint64_t offset, std::uint64_t bytes);
  void close(std::uint32_t file);
  void rename(const std::string& from, const std::string& to, std::uint64_t inode);
  void exit(int code);

  // A second thread, to which the first hands over and which hands back.
  void start_thread();
  void hand_over_and_back();
  // Sockets to the next and from the previous rank of a ring.
  void connect(std::uint32_t ranks);
  void send(std::uint64_t bytes);
  void receive(std::uint64_t bytes);

  void idle(std::int64_t ns) { now_ns_ += ns; }
  void finish(std::int64_t last_ns) { scribe_->set_latest(last_ns); }

 private:
  // A call that takes about `ns`, and a little time until the next.
  template <trace::Call call>
  void record(const trace::PayloadOf<call>& payload, std::int64_t ns, std::string_view place = {},
              std::uint16_t thread = 1) {
    std::int64_t begin_ns = now_ns_;
    if (ns != TraceScribe::kInside) now_ns_ += ns + jitter(ns / 8 + 1);
    std::int64_t end_ns = ns == TraceScribe::kInside ? ns : now_ns_;
    complete_ &= scribe_->write<call>(thread, payload, begin_ns, end_ns, stack(place));
    ++records_;
    now_ns_ += 200 + jitter(300);
  }
  std::int64_t jitter(std::int64_t below) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
  }
  std::uint32_t stack(std::string_view place);
  void launch(std::uint64_t function, const char* name);

  std::unique_ptr<TraceScribe> scribe_;
  std::uint32_t rank_;
  std::mt19937_64 random_;
  std::int64_t now_ns_ = 0;
  std::uint64_t records_ = 0;
  bool complete_ = true;
  std::uint32_t sequence_ = 0;
  bool timed_ = false;
  std::vector<std::int64_t> enqueued_ns_;
  std::int64_t device_free_ns_ = 0;  // from collectives
  std::uint32_t files_ = 0;
  std::uint64_t sent_ = 0, received_ = 0;  // bytes
  std::uint32_t previous_ = 0;             // rank
  std::map<std::string_view, std::uint32_t> stacks_;
};

}  // namespace ddpscope::tests
