// Groups are a thread's own: nothing here is shared.
#include "standin/nccl/group.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <latch>
#include <utility>

#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl::group {
namespace {

/// What waits for the peers of one communicator.
struct Creations {
  const Communicator* on;
  std::vector<std::function<bool()>> calls;
};

struct Group {
  int depth = 0;
  ncclResult_t failure = ncclSuccess;
  std::vector<Creations> creations;
  std::vector<std::unique_ptr<Plan>> plans;  ///< one per communicator, in the order of first use
};

thread_local Group current;

/// True, with the gathered group in `ended`, if this was the outermost end.
bool leave(Group& ended) {
  if (current.depth == 0) throw Failure(ncclInvalidUsage, "ncclGroupEnd: not in a group call");
  if (--current.depth > 0) return false;
  ended = std::exchange(current, Group{});
  if (ended.failure != ncclSuccess)
    throw Failure(ended.failure, "a call of the group failed: nothing was started");
  return true;
}

bool run_in_order(const Creations& creations) {
  bool goes_on = false;
  for (const auto& call : creations.calls) goes_on |= call();
  return goes_on;
}

/// Creations wait for each other when they are ranks of one communicator: each communicator gets a thread.
bool run_together(std::vector<Creations>& creations) {
  if (creations.size() == 1) return run_in_order(creations.front());
  std::vector<std::exception_ptr> failures(creations.size());
  std::atomic<bool> any_goes_on{false};
  std::latch ended(static_cast<std::ptrdiff_t>(creations.size()));
  for (std::size_t i = 0; i < creations.size(); ++i) {
    start_thread([&, i] {
      try {
        if (run_in_order(creations[i])) any_goes_on = true;
      } catch (...) {
        failures[i] = std::current_exception();
      }
      ended.count_down();
    });
  }
  ended.wait();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return any_goes_on;
}

Plan& plan_for(std::vector<std::unique_ptr<Plan>>& plans, const std::shared_ptr<Communicator>& communicator) {
  for (const auto& plan : plans) {
    if (plan->communicator == communicator) return *plan;
  }
  plans.push_back(std::make_unique<Plan>());
  plans.back()->communicator = communicator;
  return *plans.back();
}

/// Within one plan every send to oneself needs its receive.
void check_messages_to_self(const Plan& plan) {
  std::vector<std::size_t> bytes[2];
  for (const Message& message : plan.messages) {
    if (message.peer == plan.communicator->rank()) bytes[message.direction].push_back(message.bytes);
  }
  if (bytes[Message::kSend] == bytes[Message::kReceive]) return;
  throw Failure(ncclInvalidUsage, "a send to the own rank has no receive of the same size in its group");
}

void enqueue_all(std::vector<std::unique_ptr<Plan>>& plans) {
  for (const auto& plan : plans) check_messages_to_self(*plan);
  for (auto& plan : plans) {
    const auto communicator = plan->communicator;
    communicator->enqueue(std::move(plan));
  }
}

/// Tells a profiler plugin of the end of the outermost group, however it ends.
class ProfiledEnd {
 public:
  ProfiledEnd() : outermost_(current.depth <= 1) {
    if (outermost_) profiler::group_ends();
  }
  ProfiledEnd(const ProfiledEnd&) = delete;
  ~ProfiledEnd() {
    if (outermost_) profiler::group_ended();
  }

 private:
  const bool outermost_;
};

}  // namespace

void start() { ++current.depth; }

bool end() {
  Group ended;
  const ProfiledEnd profiled;
  if (!leave(ended)) return false;
  const bool goes_on = !ended.creations.empty() && run_together(ended.creations);
  enqueue_all(ended.plans);
  return goes_on;
}

std::chrono::nanoseconds simulate_end() {
  Group ended;
  std::chrono::nanoseconds longest{0};
  const ProfiledEnd profiled;
  if (!leave(ended)) return longest;
  for (const auto& plan : ended.plans) longest = std::max(longest, plan->communicator->duration(*plan));
  return longest;
}

void note_failure(ncclResult_t result) {
  if (current.depth > 0 && current.failure == ncclSuccess) current.failure = result;
}

bool run(const Communicator* on, std::function<bool()> creation) {
  if (current.depth == 0) return creation();
  auto same = std::ranges::find(current.creations, on, &Creations::on);
  if (same == current.creations.end()) same = current.creations.insert(same, {on, {}});
  same->calls.push_back(std::move(creation));
  return false;
}

void submit(const std::shared_ptr<Communicator>& communicator, cudaStream_t stream,
            std::span<const Collective> collectives, std::span<const Message> messages,
            std::span<const OneSidedCall> one_sided) {
  std::vector<std::unique_ptr<Plan>> alone;
  Plan& plan = plan_for(current.depth > 0 ? current.plans : alone, communicator);
  if (std::ranges::find(plan.streams, stream) == plan.streams.end()) plan.streams.push_back(stream);
  const int depth = current.depth + 1;  // NCCL makes each call a group, too
  for (const Collective& collective : collectives) {
    plan.collectives.push_back(collective);
    plan.collectives.back().asked = profiler::called(*communicator, collective, stream, depth);
  }
  for (const Message& message : messages) {
    plan.messages.push_back(message);
    plan.messages.back().asked = profiler::called(*communicator, message, stream, depth);
  }
  plan.one_sided.insert(plan.one_sided.end(), one_sided.begin(), one_sided.end());
  if (current.depth > 0) return;
  const ProfiledEnd profiled;
  enqueue_all(alone);
}

}  // namespace ddpscope::standin::nccl::group
