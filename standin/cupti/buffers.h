// The client's buffers: asked for when a record needs room, filled, and given back.
#pragma once

#include <cupti.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace ddpscope::standin::cupti {

/// A record has its place in a buffer from when its activity was queued; it reads as incomplete (kind
/// INVALID) until the activity has ended, and the buffer is not given back before, unless that is forced.
class Buffers {
 public:
  struct Buffer {
    std::uint8_t* data = nullptr;
    std::size_t size = 0;
    std::size_t used = 0;
    std::size_t most_records = 0;  ///< 0: as many as fit
    std::size_t records = 0;
    std::size_t incomplete = 0;
    bool given_back = false;
  };
  using BufferRef = std::shared_ptr<Buffer>;

  struct Place {
    BufferRef buffer;  ///< null: the record is dropped
    std::size_t offset = 0;
  };

  /// Where one thread, or all of them, write.
  class Writer {
   public:
    ~Writer();

   private:
    friend class Buffers;
    BufferRef current_;
    bool known_ = false;
  };

  static Buffers& instance();

  void set_callbacks(CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed);
  bool has_callbacks();

  /// Room for a record of `bytes` that completes later. Asks the client for a buffer in the calling thread.
  /// Without room the record counts as dropped.
  Place reserve(std::size_t bytes);

  /// Completes the record; one whose buffer has been given back meanwhile counts as dropped.
  void complete(const Place& place, const void* record, std::size_t bytes);

  /// A record that is complete at once.
  void put(const void* record, std::size_t bytes) { complete(reserve(bytes), record, bytes); }

  /// Gives back, in the calling thread, what has only complete records; forced: everything.
  void flush(bool forced);

  std::size_t take_dropped();

  /// Full buffers go back as soon as they are complete, or, with a period in ms, when it is over.
  void set_period(std::uint32_t ms);
  void set_per_thread(bool per_thread);
  void set_zeroed(bool zeroed);  ///< the client's buffers come zeroed
  bool per_thread();
  bool zeroed();

  /// Forgets the client, its buffers and the worker.
  void reset();

 private:
  Writer& writer();
  bool fits(const Buffer& buffer, std::size_t bytes) const;
  Place place_in(const BufferRef& buffer, std::size_t bytes);
  BufferRef request(std::unique_lock<std::mutex>& lock);
  void retire(Writer& writer);
  std::vector<BufferRef> take_full(bool forced);
  void deliver(const std::vector<BufferRef>& buffers, std::unique_lock<std::mutex>& lock);
  void wake_worker();
  void work(std::uint64_t generation);
  void leave(Writer& writer);

  std::mutex mutex_;
  std::condition_variable changed_;
  CUpti_BuffersCallbackRequestFunc requested_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc completed_ = nullptr;
  std::vector<Writer*> writers_;
  std::vector<BufferRef> spare_;  ///< asked for by two threads at once
  std::deque<BufferRef> full_;
  std::size_t dropped_ = 0;
  int deliveries_ = 0;
  std::uint32_t period_ms_ = 0;
  bool per_thread_ = true;
  bool zeroed_ = false;
  bool worker_wanted_ = false;
  std::uint64_t worker_generation_ = 0;  ///< of the worker that runs; another one's ends
};

}  // namespace ddpscope::standin::cupti
