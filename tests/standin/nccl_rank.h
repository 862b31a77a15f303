// One rank of a test job: who it is, its communicator, memory and a way to fail with a reason.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

/// Ends the process with status 1 and a message unless the condition holds.
#define REQUIRE(condition)                                  \
  do {                                                      \
    if (!(condition)) fail(__FILE__, __LINE__, #condition); \
  } while (false)
#define REQUIRE_CUDA(call) REQUIRE((call) == cudaSuccess)
#define REQUIRE_NCCL(call)                                                                               \
  do {                                                                                                   \
    if (const ncclResult_t required = (call); required != ncclSuccess)                                   \
      fail(__FILE__, __LINE__,                                                                           \
           std::string(#call) + ": " + ncclGetErrorString(required) + ", " + ncclGetLastError(nullptr)); \
  } while (false)

[[noreturn]] void fail(const char* file, int line, const std::string& what);

/// RANK, WORLD_SIZE and JOB_DIR, where ranks leave files for each other.
struct Job {
  int rank;
  int size;
  std::string directory;
};
const Job& job();

/// Rank `maker` makes the id, the others read it from the file `name`.
ncclUniqueId shared_id(const std::string& name, int maker = 0);

/// The id that `make` returns on rank `maker`, on all of them.
ncclUniqueId passed_on(const std::string& name, int maker, const std::function<ncclUniqueId()>& make);

/// All ranks of the job, each on the device of its number.
ncclComm_t make_communicator();

/// A note for the other ranks, and the wait for one; a wait fails after a minute.
void leave_note(const std::string& name);
void await_note(const std::string& name);
void await_notes_of_all(const std::string& name);  ///< leaves one and waits for everyone's

/// Runs the scenario that the first argument names.
struct Scenario {
  const char* name;
  void (*run)();
};
int run_scenario(int argc, char** argv, std::initializer_list<Scenario> scenarios);

/// Asks `done` again and again, for at most a minute.
template <typename Done>
bool eventually(Done done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    const timespec pause{0, 2'000'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

/// The threads of this process beside the calling one, and a line of /proc/self/task/TASK/status.
std::vector<std::string> other_tasks();
std::string task_status(const std::string& task, const std::string& name);

inline bool last_error_has(const std::string& text) {
  return std::string(ncclGetLastError(nullptr)).find(text) != std::string::npos;
}

/// What a hanging operation does to its stream.
inline bool pending(cudaStream_t stream) { return cudaStreamQuery(stream) == cudaErrorNotReady; }

/// Device memory with the contents of a vector, and back. Synchronous.
template <typename T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    REQUIRE_CUDA(cudaMalloc(&data_, count * sizeof(T)));
  }
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size()) {
    REQUIRE_CUDA(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }
  T* get() const { return static_cast<T*>(data_); }
  std::vector<T> values() const {
    std::vector<T> copy(count_);
    REQUIRE_CUDA(cudaMemcpy(copy.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return copy;
  }

 private:
  std::size_t count_;
  void* data_ = nullptr;
};
