// A stream: a queue of work, a thread that runs it, and tickets that say how far it has come.
#pragma once

#include <driver_types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace ddpscope::standin {

class Device;
class Stream;
using StreamRef = std::shared_ptr<Stream>;
using Work = std::function<void()>;

/// A point that is in no stream of this process.
class Point {
 public:
  virtual ~Point() = default;
  virtual bool passed() const = 0;
  virtual void wait() = 0;
};

/// A point that a graph comes to while it runs.
class Gate final : public Point {
 public:
  bool passed() const override { return open_.load(std::memory_order_acquire); }
  void wait() override;
  void open();

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::atomic<bool> open_{false};
};

/// A point in a stream: all that had been submitted up to `ticket`; or another one. Without either it is
/// always reached.
struct Mark {
  StreamRef stream;
  std::uint64_t ticket = 0;
  std::shared_ptr<Point> point = {};

  bool reached() const;
  void wait() const;  ///< sleeps until reached
};

/// How a stream relates to the legacy default stream of its device (CUDA programming guide, "Default
/// stream").
enum class StreamKind { kLegacy, kBlocking, kNonBlocking };

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(Device& device, StreamKind kind, int priority);

  Device& device() const { return device_; }
  StreamKind kind() const { return kind_; }
  int priority() const { return priority_; }
  std::uint64_t id() const { return id_; }

  /// Queues `work` (may be empty) behind all that was submitted before and behind `after`.
  /// The thread starts with the first work that cannot be completed on the spot.
  Mark push(Work work, std::vector<Mark> after);

  Mark tail();  ///< behind all that has been submitted so far
  bool reached(std::uint64_t ticket) const { return completed_.load(std::memory_order_acquire) >= ticket; }
  void wait(std::uint64_t ticket);

  /// No more work comes: the thread finishes the queue and ends.
  void close();

 private:
  struct Entry {
    Work work;
    std::vector<Mark> after;
  };

  void start_thread();
  void run();

  Device& device_;
  const StreamKind kind_;
  const int priority_;
  const std::uint64_t id_;

  std::mutex mutex_;
  std::condition_variable work_arrived_;
  std::condition_variable work_completed_;
  std::deque<Entry> queue_;
  std::uint64_t submitted_ = 0;
  std::atomic<std::uint64_t> completed_{0};
  int waiters_ = 0;
  bool has_thread_ = false;
  bool thread_sleeps_ = false;
  bool closed_ = false;
};

/// The stream behind an API handle: 0 and cudaStreamLegacy, cudaStreamPerThread (both of the current device),
/// or one that was created. Fails with cudaErrorInvalidResourceHandle.
StreamRef find_stream(cudaStream_t handle);

/// Queues work by CUDA's rules: work on the legacy stream comes after everything in the device's blocking
/// streams, work on a blocking stream after everything in the legacy stream; non-blocking streams stand
/// apart.
Mark submit(const StreamRef& stream, Work work, std::vector<Mark> after = {});

/// Sleeps until all is done that a wait for `stream` promises: for the legacy stream that is all of the
/// device's blocking streams too.
void synchronize(const StreamRef& stream);

/// True where synchronize() would not sleep.
bool finished(const StreamRef& stream);

}  // namespace ddpscope::standin
