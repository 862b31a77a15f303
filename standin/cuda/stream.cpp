// The queue and the thread of a stream, and the rules of the legacy default stream.
#include "standin/cuda/stream.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "standin/cuda/capture.h"
#include "standin/cuda/device.h"
#include "standin/cuda/given_up.h"

namespace ddpscope::standin {
namespace {

std::uint64_t next_stream_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// The program's signals are for the program's threads: ours are born with all of them blocked.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

void Gate::wait() {
  std::unique_lock lock(mutex_);
  opened_.wait(lock, [&] { return passed(); });
}

void Gate::open() {
  std::lock_guard lock(mutex_);
  open_.store(true, std::memory_order_release);
  opened_.notify_all();
}

bool Mark::reached() const { return (!stream || stream->reached(ticket)) && (!point || point->passed()); }

void Mark::wait() const {
  thread_goes_on();
  if (stream) stream->wait(ticket);
  if (point) point->wait();
}

Stream::Stream(Device& device, StreamKind kind, int priority)
    : device_(device), kind_(kind), priority_(priority), id_(next_stream_id()) {}

Mark Stream::push(Work work, std::vector<Mark> after) {
  std::lock_guard lock(mutex_);
  std::erase_if(after, [](const Mark& mark) { return mark.reached(); });
  const bool idle = completed_.load(std::memory_order_relaxed) == submitted_;
  if (idle && !work && after.empty()) {
    completed_.store(++submitted_, std::memory_order_release);
    return {shared_from_this(), submitted_};
  }
  if (!has_thread_) start_thread();
  queue_.push_back({std::move(work), std::move(after)});
  if (thread_sleeps_) work_arrived_.notify_one();
  return {shared_from_this(), ++submitted_};
}

Mark Stream::tail() {
  std::lock_guard lock(mutex_);
  return {shared_from_this(), submitted_};
}

void Stream::wait(std::uint64_t ticket) {
  if (reached(ticket)) return;
  std::unique_lock lock(mutex_);
  ++waiters_;
  work_completed_.wait(lock, [&] { return reached(ticket); });
  --waiters_;
}

void Stream::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  if (has_thread_) {
    work_arrived_.notify_one();  // the thread leaves the device's list when its queue is empty
  } else {
    lock.unlock();
    device_.remove(*this);
  }
}

void Stream::start_thread() {
  AllSignalsBlocked guard;
  std::thread([self = shared_from_this()] { self->run(); }).detach();
  has_thread_ = true;
}

void Stream::run() {
  pthread_setname_np(pthread_self(), "cuda stream");
  std::unique_lock lock(mutex_);
  for (;;) {
    while (queue_.empty() && !closed_) {
      thread_sleeps_ = true;
      work_arrived_.wait(lock);
      thread_sleeps_ = false;
    }
    if (queue_.empty()) break;
    {
      Entry entry = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      for (const Mark& mark : entry.after) mark.wait();
      if (entry.work) entry.work();
    }  // what the work held is released before it counts as done
    lock.lock();
    completed_.fetch_add(1, std::memory_order_release);
    if (waiters_ > 0) work_completed_.notify_all();
  }
  lock.unlock();
  device_.remove(*this);
}

Mark submit(const StreamRef& stream, Work work, std::vector<Mark> after) {
  thread_goes_on();
  if (captures_run()) [[unlikely]]
    refuse_in_capture(*stream);
  if (stream->kind() == StreamKind::kNonBlocking) return stream->push(std::move(work), std::move(after));
  return stream->device().push_ordered(*stream, std::move(work), std::move(after));
}

namespace {

std::vector<Mark> scope_of(const StreamRef& stream) {
  if (stream->kind() == StreamKind::kLegacy) return stream->device().legacy_scope();
  return {stream->tail()};
}

}  // namespace

void synchronize(const StreamRef& stream) {
  for (const Mark& mark : scope_of(stream)) mark.wait();
}

bool finished(const StreamRef& stream) {
  thread_goes_on();
  return std::ranges::all_of(scope_of(stream), &Mark::reached);
}

}  // namespace ddpscope::standin
