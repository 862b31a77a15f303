// One lock over all buffers; the client's functions are called without it, as they may call us.
#include "standin/cupti/buffers.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "standin/cupti/boundary.h"

namespace ddpscope::standin::cupti {
namespace {

thread_local Buffers::Writer own_writer;
// A library's destructors call CUDA when those of the thread's variables have run.
constinit thread_local bool own_writer_gone = false;
thread_local bool delivering = false;

}  // namespace

Buffers& Buffers::instance() {
  static auto* all = new Buffers;
  return *all;
}

Buffers::Writer::~Writer() {
  own_writer_gone = true;  // the common one stays
  if (known_ && !in_forked_child()) Buffers::instance().leave(*this);
}

void Buffers::leave(Writer& writer) {
  std::unique_lock lock(mutex_);
  std::erase(writers_, &writer);
  if (writer.current_) retire(writer);
}

void Buffers::set_callbacks(CUpti_BuffersCallbackRequestFunc requested,
                            CUpti_BuffersCallbackCompleteFunc completed) {
  std::lock_guard lock(mutex_);
  requested_ = requested;
  completed_ = completed;
}

bool Buffers::has_callbacks() {
  std::lock_guard lock(mutex_);
  return requested_ != nullptr;
}

Buffers::Writer& Buffers::writer() {
  static auto* common = new Writer;
  Writer& chosen = per_thread_ && !own_writer_gone ? own_writer : *common;
  if (!chosen.known_) {
    chosen.known_ = true;
    writers_.push_back(&chosen);
  }
  return chosen;
}

bool Buffers::fits(const Buffer& buffer, std::size_t bytes) const {
  return buffer.size - buffer.used >= bytes &&
         (buffer.most_records == 0 || buffer.records < buffer.most_records);
}

Buffers::Place Buffers::place_in(const BufferRef& buffer, std::size_t bytes) {
  const Place place{buffer, buffer->used};
  constexpr CUpti_ActivityKind kIncomplete = CUPTI_ACTIVITY_KIND_INVALID;
  std::memcpy(buffer->data + buffer->used, &kIncomplete, sizeof kIncomplete);
  buffer->used += bytes;
  ++buffer->records;
  ++buffer->incomplete;
  return place;
}

Buffers::BufferRef Buffers::request(std::unique_lock<std::mutex>& lock) {
  const auto ask = requested_;
  const bool zeroed = zeroed_;
  if (!ask) return nullptr;
  auto buffer = std::make_shared<Buffer>();
  lock.unlock();
  ask(&buffer->data, &buffer->size, &buffer->most_records);
  if (buffer->data && !zeroed) std::memset(buffer->data, 0, buffer->size);
  lock.lock();
  return buffer->data ? buffer : nullptr;
}

Buffers::Place Buffers::reserve(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  for (;;) {
    Writer& writer = this->writer();
    if (writer.current_ && fits(*writer.current_, bytes)) return place_in(writer.current_, bytes);
    if (writer.current_) retire(writer);
    if (!spare_.empty()) {
      writer.current_ = spare_.back();
      spare_.pop_back();
      continue;
    }
    BufferRef fresh = request(lock);
    if (fresh && fits(*fresh, bytes)) {
      spare_.push_back(std::move(fresh));
      continue;
    }
    ++dropped_;
    if (fresh) deliver({fresh}, lock);  // too small for a single record
    return {};
  }
}

void Buffers::retire(Writer& writer) {
  full_.push_back(std::move(writer.current_));
  writer.current_ = nullptr;
  if (full_.back()->incomplete == 0) wake_worker();
}

void Buffers::complete(const Place& place, const void* record, std::size_t bytes) {
  if (!place.buffer) return;
  std::lock_guard lock(mutex_);
  Buffer& buffer = *place.buffer;
  if (!buffer.data) return;  // of a session that is over
  if (buffer.given_back) {
    ++dropped_;
    return;
  }
  std::memcpy(buffer.data + place.offset, record, bytes);
  if (--buffer.incomplete == 0 && std::ranges::find(full_, place.buffer) != full_.end()) wake_worker();
}

std::vector<Buffers::BufferRef> Buffers::take_full(bool forced) {
  std::vector<BufferRef> taken;
  std::erase_if(full_, [&](const BufferRef& buffer) {
    if (!forced && buffer->incomplete > 0) return false;
    taken.push_back(buffer);
    return true;
  });
  return taken;
}

void Buffers::deliver(const std::vector<BufferRef>& buffers, std::unique_lock<std::mutex>& lock) {
  const auto completed = completed_;
  for (const BufferRef& buffer : buffers) buffer->given_back = true;
  if (!completed) return;
  ++deliveries_;
  lock.unlock();
  const bool nested = std::exchange(delivering, true);
  for (const BufferRef& buffer : buffers) completed(nullptr, 0, buffer->data, buffer->size, buffer->used);
  delivering = nested;
  lock.lock();
  --deliveries_;
  changed_.notify_all();
}

void Buffers::flush(bool forced) {
  std::unique_lock lock(mutex_);
  std::vector<BufferRef> taken = take_full(forced);
  for (Writer* writer : writers_) {
    BufferRef& current = writer->current_;
    if (!current || current->records == 0 || (!forced && current->incomplete > 0)) continue;
    taken.push_back(std::move(current));
    current = nullptr;
  }
  deliver(taken, lock);
  // What the worker took before us has arrived when we return, too.
  if (!delivering) changed_.wait(lock, [&] { return deliveries_ == 0; });
}

std::size_t Buffers::take_dropped() {
  std::lock_guard lock(mutex_);
  return std::exchange(dropped_, 0);
}

void Buffers::wake_worker() {
  if (!std::exchange(worker_wanted_, true)) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this, generation = ++worker_generation_] { work(generation); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  changed_.notify_all();
}

void Buffers::work(std::uint64_t generation) {
  pthread_setname_np(pthread_self(), "cupti worker");
  std::unique_lock lock(mutex_);
  const auto ended = [&] { return worker_generation_ != generation || !worker_wanted_; };
  const auto ready = [&] {
    return std::ranges::any_of(full_, [](const BufferRef& buffer) { return buffer->incomplete == 0; });
  };
  while (!ended()) {
    if (period_ms_ > 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(period_ms_), ended);
    } else {
      changed_.wait(lock, [&] { return ended() || ready() || period_ms_ > 0; });
      if (period_ms_ > 0) continue;
    }
    if (!ended()) deliver(take_full(false), lock);
  }
}

void Buffers::set_period(std::uint32_t ms) {
  std::lock_guard lock(mutex_);
  period_ms_ = ms;
  wake_worker();
}

void Buffers::set_per_thread(bool per_thread) {
  std::lock_guard lock(mutex_);
  per_thread_ = per_thread;
}

void Buffers::set_zeroed(bool zeroed) {
  std::lock_guard lock(mutex_);
  zeroed_ = zeroed;
}

bool Buffers::per_thread() {
  std::lock_guard lock(mutex_);
  return per_thread_;
}

bool Buffers::zeroed() {
  std::lock_guard lock(mutex_);
  return zeroed_;
}

void Buffers::reset() {
  std::lock_guard lock(mutex_);
  for (Writer* writer : writers_) {
    if (writer->current_) writer->current_->data = nullptr;
    writer->current_ = nullptr;
  }
  for (const BufferRef& buffer : full_) buffer->data = nullptr;
  full_.clear();
  spare_.clear();
  requested_ = nullptr;
  completed_ = nullptr;
  dropped_ = 0;
  period_ms_ = 0;
  per_thread_ = true;
  zeroed_ = false;
  worker_wanted_ = false;
  ++worker_generation_;
  changed_.notify_all();
}

}  // namespace ddpscope::standin::cupti
