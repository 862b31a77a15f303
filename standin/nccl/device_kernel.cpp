// Names as NCCL 2.28 has them (src/device/generate.py): one kernel serves all algorithms, protocols and
// reductions of a function and type, and what is signed runs as unsigned.
#include "standin/nccl/device_kernel.h"

#include <mutex>
#include <set>
#include <string>

#include "standin/cuda/runtime_table.h"
#include "standin/nccl/communicator.h"

namespace ddpscope::standin::nccl {
namespace {

constexpr const char* kTypes[] = {"u8",  "u8",  "u32", "u32",  "u64",    "u64",
                                  "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};

std::string plain_name(const Plan& plan) {
  const std::string kernel = "ncclDevKernel_";
  if (plan.collectives.empty()) return kernel + "SendRecv";
  const Signature& first = plan.collectives.front().signature;
  const std::string reduced = std::string("_Sum_") + kTypes[first.datatype];
  switch (first.kind) {
    case Kind::kAllGather:
      return kernel + "AllGather_RING_LL";
    case Kind::kBroadcast:
      return kernel + "Broadcast_RING_LL";
    case Kind::kReduceScatter:
      return kernel + "ReduceScatter" + reduced + "_RING_LL";
    case Kind::kReduce:
      return kernel + "Reduce" + reduced + "_RING_LL";
    default:
      return kernel + "AllReduce" + reduced + "_RING_LL";
  }
}

/// Mangled as a profiler gets it: void NAME(ncclDevKernelArgsStorage<4096ul>). Never freed.
const char* kernel_name(const Plan& plan) {
  static std::mutex mutex;
  static auto* const names = new std::set<std::string>;
  const std::string plain = plain_name(plan);
  const std::string mangled =
      "_Z" + std::to_string(plain.size()) + plain + "24ncclDevKernelArgsStorageILm4096EE";
  std::lock_guard lock(mutex);
  return names->insert(mangled).first->c_str();
}

/// Null with a CUDA runtime that is not the stand-in.
const Runtime* runtime() { return standin_cudart_runtime ? standin_cudart_runtime() : nullptr; }

}  // namespace

cudaError_t launch_plan(cudaStream_t stream, cudaHostFn_t function, Plan* plan, bool captured) {
  // One-sided data moves without a kernel.
  const bool kernel = !plan->collectives.empty() || !plan->messages.empty();
  const Runtime* const standin = kernel ? runtime() : nullptr;
  if (standin && (captured || standin->observed()))
    return standin->launch_kernel(stream, function, plan, kernel_name(*plan));
  return cudaLaunchHostFunc(stream, function, plan);
}

void plan_starts() {
  if (const Runtime* const standin = runtime()) standin->kernel_starts();
}

void abort_begins() {
  if (const Runtime* const standin = runtime()) standin->give_up_work();
}

void aborted_plan_ended() {
  if (const Runtime* const standin = runtime()) standin->wait_until_let_go();
}

}  // namespace ddpscope::standin::nccl
