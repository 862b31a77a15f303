// What a profiler plugin is told of a communicator: calls, groups, operations, and when their kernels ran.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "standin/nccl/profiler_plugin.h"

namespace ddpscope::standin::nccl {

class Communicator;
struct Collective;
struct Message;
struct Plan;

namespace profiler {

/// A communicator's own context with the plugin. Not copied; ended before the communicator is.
class Session {
 public:
  /// Null without a plugin, or where it does not want this communicator.
  static std::shared_ptr<Session> begin(std::uint64_t communicator, const std::string& name, int nodes,
                                        int ranks, int rank);
  Session(std::shared_ptr<Plugin> plugin, void* context, int rank)
      : plugin_(std::move(plugin)), context_(context), rank_(rank) {}
  ~Session();

  void* start(Event event);
  void stop(void*& handle);
  void record(void* handle, int state, StateArguments* arguments = nullptr);

  int rank() const { return rank_; }
  /// Numbers the operations of each function, from 0.
  std::uint64_t next_of(std::size_t kind) { return sequences_[kind]++; }
  std::uint64_t reached_of(std::size_t kind) const { return sequences_[kind]; }

 private:
  std::shared_ptr<Plugin> plugin_;
  void* context_;
  int rank_;
  std::atomic<std::uint64_t> sequences_[8] = {};
};

/// What an operation has got from the call that asked for it.
struct Asked {
  int mask = 0;
  void* group_api = nullptr;
  void* api = nullptr;
};

/// A call has asked for an operation: the thread's group begins with its first. `depth`: of groups, with the
/// one that each call is by itself.
Asked called(const Communicator& communicator, const Collective& collective, cudaStream_t stream, int depth);
Asked called(const Communicator& communicator, const Message& message, cudaStream_t stream, int depth);

/// The outermost group ends: between the two its operations are launched.
void group_ends();
void group_ended();

/// The events of one plan, shared by the thread that launches it and the stream that runs it.
class PlanEvents {
 public:
  /// Null where nobody wants any. `run_by_graph`: one run of a plan that was captured, which counts as none.
  static std::shared_ptr<PlanEvents> of(const Plan& plan, bool run_by_graph = false);

  /// Around the launch, in the calling thread: the operations have their events when launched() returns, and
  /// the stream waits for that.
  void launches(cudaStream_t stream);
  void launched();
  void launch_ended();  ///< instead of launched(): it failed, or a graph will run the plan

  /// Around the kernel, in the stream's thread.
  void starts();
  void ended();

 private:
  struct Operation {
    Event event;
    int mask = 0;
    void* handle = nullptr;
    void* kernel = nullptr;
  };

  std::shared_ptr<Session> session_;
  std::vector<Operation> operations_;
  int mask_ = 0;
  void* group_api_ = nullptr;
  void* launch_ = nullptr;
  std::latch announced_{1};
};

}  // namespace profiler
}  // namespace ddpscope::standin::nccl
