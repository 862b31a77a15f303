// Thread creation: what NCCL and CUDA start belongs to them, and so does what those threads start.
#include <dlfcn.h>
#include <pthread.h>

#include "injector/core/hook.h"
#include "injector/files/pool.h"

namespace ddpscope::injector {
namespace {

// What a new thread has to know, between pthread_create and its first instruction.
struct Start {
  std::atomic<std::uint32_t> references{};
  void* (*routine)(void*);
  void* argument{};
  bool vendor{};
};

constinit Pool<Start, 1024> starts;

// The first function of every thread of the guest.
void* run_thread(void* place) {
  Start& start = *static_cast<Start*>(place);
  auto routine = start.routine;
  void* argument = start.argument;
  this_thread.vendor_thread = start.vendor;
  start.references.store(0, std::memory_order_release);
  return routine(argument);
}

decltype(&pthread_create) real_create;

__attribute__((constructor(101))) void find_create() {
  real_create = reinterpret_cast<decltype(real_create)>(dlsym(RTLD_NEXT, "pthread_create"));
}

int create_thread(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                  void* argument) {
  if (!real_create) find_create();  // called by another library's constructor before ours
  std::uint32_t index = starts.take();
  if (index == starts.kNone) {
    if (trace::FileWriter* file = open_recorder()) file->count(trace::Health::thread_starts_unseen);
    return real_create(thread, attributes, routine, argument);
  }
  Start& start = starts[index];
  start.routine = routine;
  start.argument = argument;
  start.vendor = inside_vendor_call();
  int error = real_create(thread, attributes, run_thread, &start);
  if (error) starts.release(index);
  return error;
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                   void* (*routine)(void*), void* argument) {
  return create_thread(thread, attributes, routine, argument);
}
