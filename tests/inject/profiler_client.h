// CUPTI as a profiler within a program uses it, PyTorch's for example: loaded when it first profiles.
#pragma once
#include <cupti.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

inline void check(int error, const char* what) {
  if (error != 0) std::fprintf(stderr, "%s: error %d\n", what, error), _exit(3);
}

// How CUPTI's functions are found: as a linked program finds them, in the library's own handle as TensorFlow
// does, or where no hook is asked.
enum class Lookup { kLinked, kByHandle, kHidden };

// CUPTI as a client that registers its callbacks once and enables kinds for each time of profiling.
#define CUPTI(function) find(&function, #function)
struct Profiler {
  explicit Profiler(Lookup lookup = Lookup::kLinked) : scope(RTLD_DEFAULT), look_up(dlsym) {
    library = dlopen("libcupti.so.13", RTLD_NOW | (lookup == Lookup::kLinked ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library) std::fprintf(stderr, "%s\n", dlerror()), _exit(4);
    if (lookup != Lookup::kLinked) scope = library;
    void* libc = dlopen("libc.so.6", RTLD_NOW);
    for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.34"})
      if (void* own = lookup == Lookup::kHidden ? dlvsym(libc, "dlsym", version) : nullptr)
        look_up = reinterpret_cast<decltype(look_up)>(own);
    next_record = CUPTI(cuptiActivityGetNextRecord);
    callback_name = CUPTI(cuptiGetCallbackName);
  }
  template <class Function>
  Function* find(Function*, const char* name) {
    return reinterpret_cast<Function*>(look_up(scope, name));
  }
  static void CUPTIAPI callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
    context = static_cast<const CUpti_CallbackData*>(data)->context;
  }
  static void CUPTIAPI request(uint8_t** buffer, size_t* bytes, size_t* most) {
    *bytes = 1 << 16, *most = 0;
    *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *bytes));
  }
  static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t used) {
    CUpti_Activity* record = nullptr;
    while (next_record(buffer, used, &record) == CUPTI_SUCCESS) {
      kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      note_call(record);
    }
    std::free(buffer);
  }
  static void note_call(const CUpti_Activity* record) {
    bool runtime = record->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    if (!runtime && record->kind != CUPTI_ACTIVITY_KIND_DRIVER) return;
    const char* name = nullptr;
    callback_name(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API,
                  reinterpret_cast<const CUpti_ActivityAPI*>(record)->cbid, &name);
    const std::lock_guard lock(calls_lock);
    ++calls[name ? name : "unnamed"];
  }
  int subscribe() { return CUPTI(cuptiSubscribe)(&handle, callback, nullptr); }
  void register_callbacks() { check(CUPTI(cuptiActivityRegisterCallbacks)(request, complete), "callbacks"); }
  void register_clock(CUpti_TimestampCallbackFunc clock) {
    check(CUPTI(cuptiActivityRegisterTimestampCallback)(clock), "clock");
  }
  void begin(CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    check(CUPTI(cuptiActivityEnable)(kind), "enable");
  }
  void flush() { check(CUPTI(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "flush"); }
  int end(CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    flush();
    check(CUPTI(cuptiActivityDisable)(kind), "disable");
    return kernels.exchange(0);
  }
  void begin_and_dump() {
    check(CUPTI(cuptiActivityEnableAndDump)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "enable");
  }
  int disable_and_flush() {
    check(CUPTI(cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "disable");
    flush();
    return kernels.exchange(0);
  }
  // For as long as that is on, any call of CUDA tells its context.
  void call_back(bool on) {
    check(CUPTI(cuptiEnableDomain)(on, handle, CUPTI_CB_DOMAIN_RUNTIME_API), "domain");
  }
  void begin_context() {
    check(CUPTI(cuptiActivityEnableContext)(context, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "enable");
  }
  int end_context() {
    check(CUPTI(cuptiActivityDisableContext)(context, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "disable");
    flush();
    return kernels.exchange(0);
  }
  void finalize() { check(CUPTI(cuptiFinalize)(), "finalize"); }
  void unsubscribe() { check(CUPTI(cuptiUnsubscribe)(handle), "unsubscribe"); }
#undef CUPTI

  void* scope;
  void* (*look_up)(void*, const char*);
  void* library;
  CUpti_SubscriberHandle handle{};
  static inline CUcontext context{};
  static inline std::atomic<int> kernels;
  static inline std::mutex calls_lock;
  static inline std::map<std::string, int> calls;  // of CUDA, by name
  static inline decltype(&cuptiActivityGetNextRecord) next_record;
  static inline decltype(&cuptiGetCallbackName) callback_name;
};
