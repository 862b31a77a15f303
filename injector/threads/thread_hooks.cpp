// Thread creation: what NCCL and CUDA start belongs to them, and so does what those threads start.
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "injector/core/hook.h"
#include "injector/files/pool.h"
#include "injector/threads/thread_life.h"

namespace ddpscope::injector {
namespace {

struct Work {
  void* (*routine)(void*){};
  int (*c11_routine)(void*){};  // one of the two
  void* argument{};
};

// What a new thread has to know, between pthread_create and its first instruction.
struct Start {
  std::atomic<std::uint32_t> references{};
  Work work{};
  std::uint32_t* number_place{};  // in the record of its creation
  bool vendor{};
};

constinit Pool<Start, 1024> starts;

// Takes what the creator left; the place is free for the next one from here on.
Work begin_thread(void* place) {
  Start& start = *static_cast<Start*>(place);
  this_thread.vendor_thread = start.vendor;
  this_thread.writer.announce(start.number_place);
  note_thread_start();
  Work work = start.work;
  start.references.store(0, std::memory_order_release);
  return work;
}

// The first functions of all threads of the guest.
void* run_thread(void* place) {
  Work work = begin_thread(place);
  return work.routine(work.argument);
}
int run_c11_thread(void* place) {
  Work work = begin_thread(place);
  return work.c11_routine(work.argument);
}

template <Call call>
OpenRecord begin_creation() {
  return inside_vendor_call() ? OpenRecord{} : begin<call>(Weight::kFollows, {}, Stack::kTaken);
}

template <Call call>
void end_creation(const OpenRecord& record, pthread_t handle, int error) {
  auto* life = result_of<call>(record);
  if (!life) return;
  life->handle = error ? 0 : handle;
  life->error = error;
  end(record);
}

// The place of the new thread's number; the thread may be running before its creation has returned.
template <Call call>
std::uint32_t* number_in(const OpenRecord& record) {
  auto* life = result_of<call>(record);
  if (!life) return nullptr;
  trace::ThreadWriter::pin(record);
  return &life->other;
}

std::uint32_t take_start(std::uint32_t* number_place, const Work& work) {
  std::uint32_t index = starts.take();
  if (index == starts.kNone) {
    if (trace::FileWriter* file = open_recorder()) file->count(trace::Health::thread_starts_unseen);
    return index;
  }
  starts[index].work = work;
  starts[index].number_place = number_place;
  starts[index].vendor = inside_vendor_call();
  return index;
}

int create_thread(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                  void* argument) {
  auto* real_create = real<Call::pthread_create>(&pthread_create);
  OpenRecord record = begin_creation<Call::pthread_create>();
  std::uint32_t index = take_start(number_in<Call::pthread_create>(record), {routine, nullptr, argument});
  int error;
  if (index == starts.kNone) {
    error = real_create(thread, attributes, routine, argument);
  } else {
    error = real_create(thread, attributes, run_thread, &starts[index]);
    if (error) starts.release(index);
  }
  end_creation<Call::pthread_create>(record, error ? 0 : *thread, error);
  return error;
}

int errno_of_c11(int result) { return result == thrd_success ? 0 : result == thrd_nomem ? ENOMEM : EAGAIN; }

int create_c11_thread(thrd_t* thread, thrd_start_t routine, void* argument) {
  auto* real_create = real<Call::thrd_create>(&thrd_create);
  OpenRecord record = begin_creation<Call::thrd_create>();
  std::uint32_t index = take_start(number_in<Call::thrd_create>(record), {nullptr, routine, argument});
  int result;
  if (index == starts.kNone) {
    result = real_create(thread, routine, argument);
  } else {
    result = real_create(thread, run_c11_thread, &starts[index]);
    if (result != thrd_success) starts.release(index);
  }
  end_creation<Call::thrd_create>(record, result == thrd_success ? *thread : 0, errno_of_c11(result));
  return result;
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                   void* (*routine)(void*), void* argument) {
  return create_thread(thread, attributes, routine, argument);
}

// Makes its thread inside libc, past the hook above.
DDPSCOPE_EXPORT int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  return create_c11_thread(thread, routine, argument);
}
