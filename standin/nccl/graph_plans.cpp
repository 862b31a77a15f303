// Plans that a stream captures: each run of the graph runs them.
#include <cuda_runtime_api.h>

#include "standin/nccl/communicator.h"
#include "standin/nccl/device_kernel.h"
#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {

Communicator::~Communicator() {
  if (one_sided_) one_sided_->stop();
  if (came_by_) cudaEventDestroy(came_by_);
}

// Plans run in the order in which they, or the graphs that hold them, were launched: an event that stands
// behind the latest one is waited for before the next. Within a graph they follow each other. NCCL does the
// same (NCCL_GRAPH_MIXING_SUPPORT).
void Communicator::wait_for_others(const StreamCapture& into, cudaStream_t stream) {
  if (!came_by_) check_cuda(cudaEventCreateWithFlags(&came_by_, cudaEventDisableTiming));
  const auto before = captured_.find(into.id);
  if (before == captured_.end()) {
    check_cuda(cudaStreamWaitEvent(stream, came_by_, cudaEventWaitExternal));
  } else {
    check_cuda(cudaStreamUpdateCaptureDependencies(stream, &before->second, nullptr, 1,
                                                   cudaStreamAddCaptureDependencies));
  }
}

namespace {

/// The graph, its copies and what is made of them keep the plan.
Plan* keep_with_graph(cudaGraph_t graph, std::unique_ptr<Plan> plan) {
  cudaUserObject_t kept = nullptr;
  const auto destroy = [](void* owned) { delete static_cast<Plan*>(owned); };
  check_cuda(cudaUserObjectCreate(&kept, plan.get(), destroy, 1, cudaUserObjectNoDestructorSync));
  Plan* const captured = plan.release();
  check_cuda(cudaGraphRetainUserObject(graph, kept, 1, cudaGraphUserObjectMove));
  return captured;
}

}  // namespace

void Communicator::capture(std::unique_ptr<Plan> plan, const StreamCapture& into) {
  if (Staging::is_on())
    throw Failure(ncclInvalidUsage, "a graph cannot hold operations on memory that the host does not reach");
  const cudaStream_t stream = plan->streams[0];
  wait_for_others(into, stream);
  Plan* const captured = keep_with_graph(into.graph, std::move(plan));
  {
    std::lock_guard lock(mutex_);
    captured->ticket = issued_;
  }
  const auto events = profiler::PlanEvents::of(*captured, true);
  if (events) events->launches(stream);
  const cudaError_t error = launch_plan(stream, run_from_graph, captured, true);
  if (events) events->launch_ended();
  check_cuda(error);
  check_cuda(cudaEventRecordWithFlags(came_by_, stream, cudaEventRecordExternal));
  captured_[into.id] = capture_of(stream).last;
}

void Communicator::run_from_graph(void* captured) {
  const Plan& plan = *static_cast<Plan*>(captured);
  Communicator& self = *plan.communicator;
  if (!self.wait_for_gap(plan.ticket)) return;
  plan_starts();
  const auto events = profiler::PlanEvents::of(plan, true);
  if (events) {
    events->launched();
    events->starts();
  }
  self.execute_or_hang(plan);
  if (events) events->ended();
  {
    std::lock_guard lock(self.mutex_);
    self.running_ = false;
    self.changed_.notify_all();
  }
  if (self.leave_.raised()) aborted_plan_ended();
}

// What was issued before the capture did not wait for anything, and nothing waits for it.
bool Communicator::wait_for_gap(std::uint64_t earlier) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return release_.raised() || (ended_ >= earlier && !running_); });
  running_ = !release_.raised();
  return running_;
}

}  // namespace ddpscope::standin::nccl
