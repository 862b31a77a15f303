// A CUPTI client as NVIDIA's documentation describes one: buffers on request, records copied out of them on
// completion.
#pragma once

#include <cupti.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/standin/cuda_gate.h"

#define CU(call) ASSERT_EQ(call, CUPTI_SUCCESS)

/// The record struct of a kind of this header.
template <class Record>
constexpr CUpti_ActivityKind kKind = CUPTI_ACTIVITY_KIND_INVALID;
template <>
inline constexpr CUpti_ActivityKind kKind<CUpti_ActivityKernel10> = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
template <>
inline constexpr CUpti_ActivityKind kKind<CUpti_ActivityMemcpy6> = CUPTI_ACTIVITY_KIND_MEMCPY;
template <>
inline constexpr CUpti_ActivityKind kKind<CUpti_ActivityMemcpyPtoP4> = CUPTI_ACTIVITY_KIND_MEMCPY2;
template <>
inline constexpr CUpti_ActivityKind kKind<CUpti_ActivityMemset4> = CUPTI_ACTIVITY_KIND_MEMSET;
template <>
inline constexpr CUpti_ActivityKind kKind<CUpti_ActivitySynchronization2> =
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
template <>
inline constexpr CUpti_ActivityKind kKind<CUpti_ActivityExternalCorrelation> =
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
template <>
inline constexpr CUpti_ActivityKind kKind<CUpti_ActivityAPI> = CUPTI_ACTIVITY_KIND_RUNTIME;

/// What the client got. One a process, as CUPTI's buffer callbacks are.
class Trace {
 public:
  /// Never destroyed: CUPTI's worker may deliver what the exit itself made, until the process is gone.
  static Trace& instance() {
    static auto* trace = new Trace;
    return *trace;
  }

  static void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
    Trace& trace = instance();
    std::lock_guard lock(trace.mutex_);
    ++trace.requests;
    *size = trace.buffer_bytes;
    *buffer = trace.buffer_bytes ? static_cast<std::uint8_t*>(std::aligned_alloc(8, *size)) : nullptr;
    *most_records = trace.most_records;
    if (*buffer) std::memset(*buffer, 0xaa, *size);  // CUPTI has to clear it
  }

  static void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                 std::size_t valid) {
    Trace& trace = instance();
    CUpti_Activity* record = nullptr;
    CUptiResult result = CUPTI_SUCCESS;
    std::lock_guard lock(trace.mutex_);
    while ((result = cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS) trace.keep(record);
    trace.last_results.push_back(result);
    trace.completed_in.push_back(std::this_thread::get_id());
    trace.arrived_.notify_all();
    std::free(buffer);
  }

  /// All records of a kind, in their order of arrival.
  template <class Record>
  std::vector<Record> records(CUpti_ActivityKind kind = kKind<Record>) {
    std::lock_guard lock(mutex_);
    std::vector<Record> found;
    for (const std::string& bytes : records_) {
      if (kind_of(bytes) != kind) continue;
      Record record;
      std::memcpy(&record, bytes.data(), sizeof record);
      found.push_back(record);
    }
    return found;
  }

  std::vector<CUpti_ActivityKind> kinds() {
    std::lock_guard lock(mutex_);
    std::vector<CUpti_ActivityKind> all;
    for (const std::string& bytes : records_) all.push_back(kind_of(bytes));
    return all;
  }

  void wait_for_buffers(std::size_t count) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return last_results.size() >= count; });
  }

  std::size_t buffers() {
    std::lock_guard lock(mutex_);
    return last_results.size();
  }

  void clear() {
    std::lock_guard lock(mutex_);
    records_.clear();
  }

  std::size_t buffer_bytes = std::size_t{1} << 20;
  std::size_t most_records = 0;
  int requests = 0;
  std::vector<CUptiResult> last_results;  ///< what ended the reading of each buffer
  std::vector<std::thread::id> completed_in;

 private:
  static CUpti_ActivityKind kind_of(const std::string& bytes) {
    CUpti_ActivityKind kind;
    std::memcpy(&kind, bytes.data(), sizeof kind);
    return kind;
  }

  void keep(const CUpti_Activity* record) {
    const auto copy = [&](std::size_t bytes) {
      records_.emplace_back(reinterpret_cast<const char*>(record), bytes);
    };
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return copy(sizeof(CUpti_ActivityKernel10));
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        return copy(sizeof(CUpti_ActivityMemcpy6));
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return copy(sizeof(CUpti_ActivityMemcpyPtoP4));
      case CUPTI_ACTIVITY_KIND_MEMSET:
        return copy(sizeof(CUpti_ActivityMemset4));
      case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return copy(sizeof(CUpti_ActivitySynchronization2));
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return copy(sizeof(CUpti_ActivityExternalCorrelation));
      default:
        return copy(sizeof(CUpti_ActivityAPI));
    }
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::string> records_;
};

/// A test with the client's buffers registered.
struct CuptiTest : CudaTest {
  void SetUp() override { CU(cuptiActivityRegisterCallbacks(Trace::requested, Trace::completed)); }

  static void enable(std::initializer_list<CUpti_ActivityKind> kinds) {
    for (const CUpti_ActivityKind kind : kinds) CU(cuptiActivityEnable(kind));
  }

  /// Waits for the device and has everything delivered.
  static void finish() {
    OK(cudaDeviceSynchronize());
    CU(cuptiActivityFlushAll(0));
  }

  static std::uint64_t now() {
    std::uint64_t time = 0;
    EXPECT_EQ(cuptiGetTimestamp(&time), CUPTI_SUCCESS);
    return time;
  }

  static std::uint32_t id_of(cudaStream_t stream) {
    std::uint32_t id = 0;
    EXPECT_EQ(cuptiGetStreamIdEx(nullptr, stream, 0, &id), CUPTI_SUCCESS);
    return id;
  }

  /// The record of the call that has a correlation id.
  static CUpti_ActivityAPI call_with(std::uint32_t correlation) {
    for (const CUpti_ActivityAPI& call : trace().records<CUpti_ActivityAPI>()) {
      if (call.correlationId == correlation) return call;
    }
    ADD_FAILURE() << "no call has correlation id " << correlation;
    return {};
  }

  static Trace& trace() { return Trace::instance(); }
};
