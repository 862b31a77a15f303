// What a profiler (the stand-in CUPTI) sees of the runtime: calls, what the streams run, who waits. Until one
// has asked for anything, a call pays for one load.
#pragma once

#include <driver_types.h>
#include <vector_types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "standin/cuda/capture.h"
#include "standin/cuda/stream.h"

namespace ddpscope::standin {

/// What cudaFuncGetAttributes and profilers say of every kernel: a CPU body has no registers.
inline constexpr int kRegistersPerThread = 32;

enum class Api { kRuntime, kDriver };

/// A call of the program, not of another call; lives in its caller's frame. What is below the line is the
/// observer's.
struct ApiCall {
  Api api;
  const char* function;
  const void* parameters;     ///< laid out as a C struct of the function's parameters
  const cudaError_t* result;  ///< meaningful once the call has ended
  const char* kernel;         ///< mangled name of what is launched, else null

  std::uint32_t callback_id = 0;
  std::uint32_t correlation = 0;
  std::uint64_t begin = 0;        ///< 0: nothing was noted at the begin
  std::uint64_t client_data = 0;  ///< goes from the callback at the begin to the one at the end
};

enum class MemoryPlace { kPageable, kPinned, kDevice, kManaged, kDeviceVariable, kManagedVariable };

/// Work of a stream as its queue gets it.
struct Activity {
  enum Kind { kKernel, kCopy, kFill } kind;
  int device;
  std::uint64_t stream;

  const char* name = nullptr;  ///< kernel: mangled; never freed
  dim3 grid{};
  dim3 block{};
  std::size_t shared_bytes = 0;
  bool cooperative = false;

  std::size_t bytes = 0;                      ///< copy, fill
  MemoryPlace from = MemoryPlace::kPageable;  ///< copy
  MemoryPlace to = MemoryPlace::kPageable;    ///< copy, fill
  int from_device = -1;                       ///< -1: the host's memory
  int to_device = -1;
  bool asynchronous = false;  ///< by the name of the call
  int value = 0;              ///< fill

  std::uint64_t graph = 0;  ///< in which it stands; 0: in none
  std::uint64_t node = 0;
};

/// One Activity on its way: called in the stream's thread.
class Run {
 public:
  virtual ~Run() = default;
  virtual void starts() = 0;  ///< again where the work finds that it has not really started yet
  virtual void ended() = 0;
};

/// A host thread, or a stream, waits.
struct Synchronization {
  enum Kind { kEvent, kStreamWait, kStream, kDevice } kind;
  int device;
  std::uint64_t stream = 0;  ///< 0: none
  std::uint32_t event = 0;   ///< 0: none
  std::uint64_t record = 0;  ///< which record of events this wait is for; 0: not known
  std::uint64_t begin = 0;
  cudaError_t result = cudaSuccess;
};

class Observer {
 public:
  virtual void begins(ApiCall& call) = 0;
  virtual void ended(ApiCall& call) = 0;
  /// Null where nobody wants to know. `call` is the one that queues, null if there is none.
  virtual std::shared_ptr<Run> queued(const Activity& activity, const ApiCall* call) = 0;
  virtual void synchronized(const Synchronization& wait, const ApiCall* call) = 0;
  virtual void context_created(int device) = 0;
  virtual std::uint64_t now() = 0;        ///< ns
  virtual bool serializes_kernels() = 0;  ///< no two kernels of the process run at once

 protected:
  ~Observer() = default;
};

namespace detail {
extern std::atomic<Observer*> attached;
}

inline Observer* observer() { return detail::attached.load(std::memory_order_acquire); }

/// From begin to end of a call; of nested calls only the outermost is one.
class CallScope {
 public:
  CallScope(Api api, const char* function, const void* parameters, const char* kernel = nullptr);
  CallScope(const CallScope&) = delete;
  ~CallScope();

  cudaError_t result = cudaSuccess;

 private:
  Observer* observer_ = nullptr;
  ApiCall call_;
};

/// The parameters of a call as a C struct of them would hold them.
template <class... P>
class ParameterBlock {
  static constexpr std::array<std::size_t, sizeof...(P) + 1> offsets() {
    std::array<std::size_t, sizeof...(P) + 1> all{};
    std::size_t end = 0, i = 0;
    [[maybe_unused]] const auto place = [&](std::size_t bytes, std::size_t alignment) {
      all[i] = (end + alignment - 1) / alignment * alignment;
      end = all[i++] + bytes;
    };
    (place(sizeof(P), alignof(P)), ...);
    all[i] = end;
    return all;
  }

 public:
  explicit ParameterBlock(const P&... parameters) {
    [[maybe_unused]] constexpr auto kOffsets = offsets();
    [[maybe_unused]] std::size_t i = 0;
    (std::memcpy(bytes_ + kOffsets[i++], &parameters, sizeof parameters), ...);
  }

  const void* data() const { return sizeof...(P) == 0 ? nullptr : bytes_; }

 private:
  alignas(16) unsigned char bytes_[offsets().back() + 1]{};
};

/// Calls the body of an entry point with an observer looking on.
template <class... P>
class Observed {
 public:
  Observed(const char* function, cudaError_t (*body)(P...)) : function_(function), body_(body) {}

  cudaError_t operator()(P... parameters) const {
    const ParameterBlock<P...> block(parameters...);
    CallScope call(Api::kRuntime, function_, block.data());
    return call.result = body_(parameters...);
  }

 private:
  const char* function_;
  cudaError_t (*body_)(P...);
};

/// What the observer wants to know of work that is queued by the calling thread; null where nobody looks on.
std::shared_ptr<Run> observed_run(const Activity& activity);

/// `work` as the observer wants to see it.
Work observed_work(std::shared_ptr<Run> run, Work work);

/// Queues `work` as submit() does, and reports it.
Mark submit_activity(const StreamRef& stream, Work work, const Activity& activity);

/// The same where an observer may be there or not, and the stream may capture; `describe()` gives the
/// Activity that it is.
template <class Describe>
Mark submit_observed(const StreamRef& stream, Work work, Describe describe) {
  if (captures_run() && capture_activity(*stream, work, describe())) return {};
  if (!observer()) [[likely]]
    return submit(stream, std::move(work));
  return submit_activity(stream, std::move(work), describe());
}

/// A wait of the calling thread, or one that it puts into a stream; reported at the end of the scope.
class WaitScope {
 public:
  /// `describe()` gives the Synchronization.
  template <class Describe>
  explicit WaitScope(Describe describe) : observer_(observer()) {
    if (!observer_) [[likely]]
      return;
    wait_ = describe();
    wait_.begin = observer_->now();
  }
  WaitScope(const WaitScope&) = delete;
  ~WaitScope() {
    if (observer_) report();
  }

  cudaError_t result(cudaError_t result) { return wait_.result = result; }

 private:
  void report();

  Observer* observer_;
  Synchronization wait_{};
};

}  // namespace ddpscope::standin

/// Defines an entry point of the runtime: RUNTIME_API(cudaFree, (void* pointer), (pointer)) { ... }
#define RUNTIME_API(function, parameters, arguments)                          \
  static cudaError_t function##_body parameters;                              \
  cudaError_t function parameters {                                           \
    if (!ddpscope::standin::observer()) [[likely]]                            \
      return function##_body arguments;                                       \
    return ddpscope::standin::Observed(#function, function##_body) arguments; \
  }                                                                           \
  static cudaError_t function##_body parameters
