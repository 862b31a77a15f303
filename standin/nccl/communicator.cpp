// Operations of a communicator: enqueued on a stream, run in their order, ended by a result or by a release.
#include "standin/nccl/communicator.h"

#include <cuda_runtime_api.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "standin/nccl/cuda.h"
#include "standin/nccl/device_kernel.h"
#include "standin/nccl/failure.h"
#include "standin/nccl/link_model.h"
#include "standin/nccl/log.h"

namespace ddpscope::standin::nccl {

void Communicator::refuse_if_unusable() {
  std::lock_guard lock(mutex_);
  if (size_ == 0 || async_error() == ncclInProgress)
    throw Failure(ncclInvalidArgument, "the communicator is not initialized");
  if (finalized_) throw Failure(ncclInvalidUsage, "the communicator is finalized");
  if (suspended_) throw Failure(ncclInvalidUsage, "the communicator is suspended");
  if (release_.raised()) throw Failure(ncclInvalidUsage, "the communicator is revoked");
  if (async_error() != ncclSuccess)
    throw Failure(async_error(), "an earlier operation of the communicator failed");
}

namespace {

StreamCapture common_capture(const std::vector<cudaStream_t>& streams) {
  const StreamCapture first = capture_of(streams[0]);
  for (const cudaStream_t stream : streams) {
    if (capture_of(stream).id != first.id)
      throw Failure(ncclInvalidUsage,
                    "Streams given to a communicator within a NCCL group must either all be "
                    "uncaptured or all captured by the same graph.");
  }
  return first;
}

}  // namespace

void Communicator::enqueue(std::unique_ptr<Plan> plan) {
  std::lock_guard order(issue_mutex_);
  refuse_if_unusable();
  const CurrentDevice device(device_);
  const std::vector<cudaStream_t> streams = plan->streams;
  const StreamCapture into = common_capture(streams);
  // A group over several streams starts when all of them are ready, and all of them wait for its end.
  for (std::size_t i = 1; i < streams.size(); ++i) order_streams(streams[i], streams[0]);
  if (into.id) {
    capture(std::move(plan), into);
  } else {
    launch(std::move(plan), streams[0]);
  }
  for (std::size_t i = 1; i < streams.size(); ++i) order_streams(streams[0], streams[i]);
}

void Communicator::launch(std::unique_ptr<Plan> plan, cudaStream_t stream) {
  plan->events = profiler::PlanEvents::of(*plan);
  std::unique_ptr<Staging> staging = Staging::begin(*plan, stream);
  if (staging) staged_order_.enter(stream);
  if (came_by_) check_cuda(cudaStreamWaitEvent(stream, came_by_, 0));
  {
    std::lock_guard lock(mutex_);
    plan->ticket = issued_++;
  }
  const auto events = plan->events;
  if (events) events->launches(stream);
  const cudaError_t error = launch_plan(stream, run_from_stream, plan.get(), false);
  if (error != cudaSuccess) {
    if (events) events->launch_ended();
    std::lock_guard lock(mutex_);
    --issued_;
    check_cuda(error);
  }
  plan.release();  // the stream has it
  if (came_by_) check_cuda(cudaEventRecord(came_by_, stream));
  if (events) events->launched();
  if (!staging) return;
  Staging::end(std::move(staging));
  staged_order_.leave(stream);
}

void Communicator::run_from_stream(void* plan) {
  const std::unique_ptr<Plan> owned(static_cast<Plan*>(plan));
  owned->communicator->run(*owned);
}

bool Communicator::wait_for_turn(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return release_.raised() || (ended_ == ticket && !running_); });
  running_ = !release_.raised();
  return running_;
}

void Communicator::run(const Plan& plan) {
  if (wait_for_turn(plan.ticket)) {
    plan_starts();
    if (plan.events) plan.events->starts();
    execute_or_hang(plan);
  }
  if (plan.events) plan.events->ended();
  {
    std::lock_guard lock(mutex_);
    running_ = false;
    ++ended_;
    changed_.notify_all();
  }
  if (leave_.raised()) aborted_plan_ended();
}

void Communicator::execute_or_hang(const Plan& plan) {
  try {
    execute(plan);
  } catch (const Released&) {
  } catch (const PeerLost& lost) {
    warn("rank " + std::to_string(rank_) + ": the connection to rank " + std::to_string(lost.rank) +
         " is gone");
    async_error_ = ncclRemoteError;
    hang();
  } catch (const Mismatch& found) {
    warn("rank " + std::to_string(found.rank) + " is in " + describe(found.theirs) + " while rank " +
         std::to_string(rank_) + " is in " + describe(found.ours) + ": neither can complete");
    hang();
  } catch (const std::exception& error) {
    warn(error.what());
    async_error_ = ncclInternalError;
    hang();
  }
}

void Communicator::execute(const Plan& plan) {
  Clock::time_point joined = Clock::now();
  for (const Collective& collective : plan.collectives) {
    joined = std::max(joined, nccl::run(collective, links_[kCollective], answers_, rank_, release_));
  }
  if (!plan.messages.empty()) {
    joined = std::max(joined, point_to_point_->run(plan.messages, links_[kPointToPoint], rank_, release_));
  }
  sleep_until(joined + duration(plan));
  if (!plan.one_sided.empty()) one_sided_->run(plan.one_sided, release_);
}

std::chrono::nanoseconds Communicator::duration(const Plan& plan) const {
  std::size_t moved = moved_bytes(plan.messages, rank_);
  for (const Collective& collective : plan.collectives) moved += moved_bytes(collective, size_);
  for (const OneSidedCall& call : plan.one_sided) moved += call.peer == rank_ ? 0 : call.bytes;
  return moved ? link_model().duration(moved) : std::chrono::nanoseconds(0);
}

void Communicator::sleep_until(Clock::time_point end) {
  for (auto left = end - Clock::now(); left.count() > 0; left = end - Clock::now()) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec timeout{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
    pollfd released{release_.fd(), POLLIN, 0};
    ppoll(&released, 1, &timeout, nullptr);
    if (release_.raised()) throw Released{};
  }
}

void Communicator::hang() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return release_.raised(); });
}

void Communicator::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return release_.raised() || (ended_ == issued_ && !running_); });
}

void Communicator::finalize() {
  {
    std::lock_guard lock(mutex_);
    if (finalized_) throw Failure(ncclInvalidArgument, "the communicator is already finalized");
    finalized_ = true;
  }
  drain();
}

void Communicator::suspend() {
  std::lock_guard lock(mutex_);
  if (suspended_) throw Failure(ncclInvalidUsage, "the communicator is already suspended");
  suspended_ = true;
}

void Communicator::resume() {
  std::lock_guard lock(mutex_);
  if (!suspended_) throw Failure(ncclInvalidUsage, "the communicator is not suspended");
  suspended_ = false;
}

bool Communicator::suspended() {
  std::lock_guard lock(mutex_);
  return suspended_;
}

void Communicator::release() {
  release_.raise();
  if (one_sided_) one_sided_->wake();
  std::unique_lock lock(mutex_);
  changed_.notify_all();
  changed_.wait(lock, [&] { return !running_; });
}

void Communicator::abort() {
  abort_begins();
  leave_.raise();
  release();
  std::lock_guard control(control_mutex_);
  // Closed only with the object: a plan may still wait on a stream. The peers must learn of it now.
  for (const Links& links : links_) {
    for (const Descriptor& socket : links) shutdown(socket.fd(), SHUT_RDWR);
  }
  if (one_sided_) one_sided_->stop();
}

void Communicator::end_profiling() { profiler_ = nullptr; }

ncclRedOp_t Communicator::add_pre_multiplied_sum(const Reduction::Factor& factor) {
  std::lock_guard lock(mutex_);
  factors_.emplace(next_reduction_, factor);
  return static_cast<ncclRedOp_t>(next_reduction_++);
}

void Communicator::remove_reduction(ncclRedOp_t op) {
  std::lock_guard lock(mutex_);
  if (!factors_.erase(op)) throw Failure(ncclInvalidArgument, "no reduction of this communicator to destroy");
}

Reduction Communicator::reduction(ncclRedOp_t op, ncclDataType_t datatype) {
  if (op >= 0 && op < ncclNumOps) return make_reduction(op, datatype, size_);
  std::lock_guard lock(mutex_);
  const auto found = factors_.find(op);
  if (found == factors_.end()) throw Failure(ncclInvalidArgument, "no such reduction: " + std::to_string(op));
  return {ncclSum, found->second, 1};
}

}  // namespace ddpscope::standin::nccl
