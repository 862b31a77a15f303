// Device memory that the host cannot touch, as a GPU's: operations work on pinned copies of it.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

namespace ddpscope::standin::nccl {

struct Plan;

/// The copies around one plan, in the order of its stream: in, the plan, out.
class Staging {
 public:
  /// Whether plans may need it. In a graph they cannot have it.
  static bool is_on();

  /// Null where the host reaches all of the plan's memory, as with the stand-in CUDA runtime
  /// (STANDIN_NCCL_STAGING=1: not there either). Else the plan's buffers are pinned ones from now on, and the
  /// copies into them are on the stream. Throws Failure.
  static std::unique_ptr<Staging> begin(Plan& plan, cudaStream_t stream);

  Staging(const Staging&) = delete;
  ~Staging();

  /// Once the plan is on the stream: puts the copies out behind it. The memory is used again when they are
  /// done.
  static void end(std::unique_ptr<Staging> staging);

 private:
  struct Copy {
    void* device;
    void* pinned;
    std::size_t bytes;
  };

  explicit Staging(cudaStream_t stream) : stream_(stream) {}
  void* take(std::size_t bytes);
  const void* bring(const void* device, std::size_t bytes);
  void* hand_out(void* device, std::size_t bytes);

  const cudaStream_t stream_;
  std::vector<std::pair<void*, std::size_t>> pinned_;  ///< address, size
  std::vector<Copy> out_;
};

/// Plans of one communicator on several streams: CUDA may run the host's functions of all streams one after
/// the other, so none of them may wait for one that comes later.
class StagedOrder {
 public:
  void enter(cudaStream_t stream);
  void leave(cudaStream_t stream);

 private:
  cudaEvent_t left_ = nullptr;  ///< never destroyed: CUDA may be gone before its communicators
};

}  // namespace ddpscope::standin::nccl
