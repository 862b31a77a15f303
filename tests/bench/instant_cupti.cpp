// A library with CUPTI's soname that takes ids and records nothing: what a launch takes longer is the
// client's. Buffers with made-up records come when they are asked for.
#include "tests/bench/instant_cupti.h"

#include <cupti.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

namespace {

CUpti_BuffersCallbackRequestFunc request;
CUpti_BuffersCallbackCompleteFunc complete;
char subscriber;

struct Pair {
  CUpti_ActivityExternalCorrelation id;
  CUpti_ActivityKernel10 kernel;
};

std::uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void fill(Pair* pairs, unsigned kernels) {
  static std::uint32_t correlation;
  const std::uint64_t start = now_ns();
  for (unsigned i = 0; i < kernels; ++i) {
    Pair& pair = pairs[i];
    pair.id = {};
    pair.id.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    pair.id.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    pair.id.externalId = (std::uint64_t{1} << 32) + correlation;
    pair.id.correlationId = ++correlation;
    pair.kernel = {};
    pair.kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    pair.kernel.name = "kernel";
    pair.kernel.correlationId = correlation;
    pair.kernel.start = start + i;
    pair.kernel.end = start + i + 1;
  }
}

}  // namespace

void deliver_kernels(unsigned kernels) {
  std::uint8_t* buffer = nullptr;
  std::size_t bytes = 0, most = 0;
  request(&buffer, &bytes, &most);
  if (kernels * sizeof(Pair) > bytes) return;
  fill(reinterpret_cast<Pair*>(buffer), kernels);
  complete(nullptr, 0, buffer, bytes, kernels * sizeof(Pair));
}

void bare_deliver_kernels(unsigned kernels) {
  static Pair pairs[1000];
  if (kernels <= 1000) fill(pairs, kernels);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc, void*) {
  *handle = reinterpret_cast<CUpti_SubscriberHandle>(&subscriber);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc asked,
                                           CUpti_BuffersCallbackCompleteFunc completed) {
  request = asked;
  complete = completed;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityFlushAll(std::uint32_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t*) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetTimestamp(std::uint64_t* time) {
  *time = now_ns();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity** record) {
  auto* at = reinterpret_cast<std::uint8_t*>(*record);
  if (!at) {
    at = buffer;
  } else {
    const bool id = (*record)->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    at += id ? offsetof(Pair, kernel) : sizeof(Pair) - offsetof(Pair, kernel);
  }
  if (at >= buffer + bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}
