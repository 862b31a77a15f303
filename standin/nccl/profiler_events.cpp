// Which events are told when, after NCCL 2.28 (src/plugin/profiler.cc): an event that has children wanted is
// started for their sake.
#include "standin/nccl/profiler_events.h"

#include <time.h>

#include "standin/nccl/communicator.h"
#include "standin/nccl/cuda.h"

namespace ddpscope::standin::nccl::profiler {
namespace {

constexpr int kBelowMessage = kPointToPoint | kProxyOp | kProxyStep | kKernelChannel | kNetPlugin;
constexpr int kBelowCollective = kCollective | kProxyOp | kProxyStep | kKernelChannel | kNetPlugin;
constexpr int kBelowGroup = kGroup | kBelowMessage | kBelowCollective;
constexpr int kBelowGroupApi = kGroupApi | kPointToPointApi | kCollectiveApi | kKernelLaunch | kBelowGroup;

/// The group that the thread is in, from its first operation on.
struct GroupApi {
  std::shared_ptr<Session> session;
  int mask = 0;
  void* handle = nullptr;
};
thread_local GroupApi group;

void begin_group(const std::shared_ptr<Session>& session, int depth, cudaStream_t stream) {
  if (group.session) return;
  group.session = session;
  group.mask = activation_mask();
  if (!(group.mask & kBelowGroupApi)) return;
  Event event{};
  event.type = kGroupApi;
  event.group_api.group_depth = depth;
  event.group_api.graph_captured = captures(stream);
  group.handle = session->start(event);
  session->record(group.handle, kGroupStartApiStop);
}

const char* function_name(Kind kind) {
  switch (kind) {
    case Kind::kAllReduce:
      return "AllReduce";
    case Kind::kAllGather:
      return "AllGather";
    case Kind::kReduceScatter:
      return "ReduceScatter";
    case Kind::kBroadcast:
      return "Broadcast";
    default:
      return "Reduce";
  }
}

const char* function_name(const Message& message) {
  return message.direction == Message::kSend ? "Send" : "Recv";
}

const char* datatype_name(std::uint32_t datatype) {
  constexpr const char* kNames[] = {"ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
                                    "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
                                    "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  return datatype < std::size(kNames) ? kNames[datatype] : "Unknown";
}

/// NCCL has root 0 where there is none.
int root_of(const Signature& signature) { return signature.root < 0 ? 0 : signature.root; }

/// Nanoseconds of the device's clock, which a GPU keeps close to the host's.
std::uint64_t device_time() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

Event event_of(const Collective& collective, Session& session, bool counts) {
  const Signature& signature = collective.signature;
  // NCCL counts bytes where nothing is computed.
  const bool bytes = signature.kind == Kind::kAllGather || signature.kind == Kind::kBroadcast;
  Event event{};
  event.type = kCollective;
  event.parent = collective.asked.api;
  event.rank = session.rank();
  const auto kind = static_cast<std::size_t>(signature.kind);
  event.collective.sequence = counts ? session.next_of(kind) : session.reached_of(kind);
  event.collective.function = function_name(signature.kind);
  event.collective.send = collective.send;
  event.collective.receive = collective.recv;
  event.collective.count = bytes ? collective.bytes() : signature.count;
  event.collective.root = root_of(signature);
  event.collective.datatype = bytes ? "ncclInt8" : datatype_name(signature.datatype);
  event.collective.channels = 1;
  event.collective.warps = 1;
  event.collective.algorithm = "RING";
  event.collective.protocol = "LL";
  return event;
}

Event event_of(const Message& message, const Session& session, bool) {
  Event event{};
  event.type = kPointToPoint;
  event.parent = message.asked.api;
  event.rank = session.rank();
  event.message.function = function_name(message);
  event.message.buffer = message.buffer;
  event.message.datatype = datatype_name(static_cast<std::uint32_t>(message.datatype));
  event.message.count = message.count;
  event.message.peer = message.peer;
  event.message.channels = 1;
  return event;
}

}  // namespace

std::shared_ptr<Session> Session::begin(std::uint64_t communicator, const std::string& name, int nodes,
                                        int ranks, int rank) {
  std::shared_ptr<Plugin> plugin = use_plugin();
  if (!plugin) return nullptr;
  void* context = nullptr;
  const char* const given = name.empty() ? nullptr : name.c_str();
  if (plugin->init(&context, communicator, activation_mask_address(), given, nodes, ranks, rank) !=
      ncclSuccess)
    return nullptr;
  return std::make_shared<Session>(std::move(plugin), context, rank);
}

Session::~Session() {
  if (context_) plugin_->finalize(context_);
}

void* Session::start(Event event) { return plugin_->start(context_, event); }

void Session::stop(void*& handle) {
  if (handle) plugin_->stop(handle);
  handle = nullptr;
}

void Session::record(void* handle, int state, StateArguments* arguments) {
  if (handle) plugin_->record(handle, state, arguments);
}

namespace {

/// `below`: the events for whose sake the call has one.
template <class Describe>
Asked call(const Communicator& communicator, cudaStream_t stream, int depth, int below, Describe describe) {
  const std::shared_ptr<Session>& session = communicator.profiler();
  if (!session) return {};
  begin_group(session, depth, stream);
  Asked asked{group.mask, group.handle, nullptr};
  if (!(group.mask & below)) return asked;
  Event event{};
  event.parent = group.handle;
  describe(event);
  asked.api = session->start(event);
  void* ended = asked.api;
  session->stop(ended);
  return asked;
}

}  // namespace

Asked called(const Communicator& communicator, const Collective& collective, cudaStream_t stream, int depth) {
  return call(communicator, stream, depth, kCollectiveApi | kBelowCollective, [&](Event& event) {
    const Signature& signature = collective.signature;
    event.type = kCollectiveApi;
    event.collective_api = {function_name(signature.kind),
                            signature.count,
                            datatype_name(signature.datatype),
                            root_of(signature),
                            stream,
                            captures(stream)};
  });
}

Asked called(const Communicator& communicator, const Message& message, cudaStream_t stream, int depth) {
  return call(communicator, stream, depth, kPointToPointApi | kBelowMessage, [&](Event& event) {
    event.type = kPointToPointApi;
    event.message_api = {function_name(message), message.count,
                         datatype_name(static_cast<std::uint32_t>(message.datatype)), stream,
                         captures(stream)};
  });
}

void group_ends() {
  if (group.session) group.session->record(group.handle, kGroupEndApiStart);
}

void group_ended() {
  if (!group.session) return;
  group.session->stop(group.handle);
  group = {};
}

std::shared_ptr<PlanEvents> PlanEvents::of(const Plan& plan, bool run_by_graph) {
  const std::shared_ptr<Session>& session = plan.communicator->profiler();
  if (!session) return nullptr;
  auto events = std::make_shared<PlanEvents>();
  events->session_ = session;
  const auto add = [&](const auto& operation) {
    events->operations_.push_back({event_of(operation, *session, !run_by_graph), operation.asked.mask});
    if (events->mask_ || !operation.asked.mask) return;
    events->mask_ = operation.asked.mask;
    events->group_api_ = operation.asked.group_api;
  };
  for (const Collective& collective : plan.collectives) add(collective);
  for (const Message& message : plan.messages) add(message);
  return events->mask_ ? events : nullptr;
}

void PlanEvents::launches(cudaStream_t stream) {
  if (!(mask_ & kKernelLaunch)) return;
  Event event{};
  event.type = kKernelLaunch;
  event.parent = group_api_;
  event.kernel_launch.stream = stream;
  launch_ = session_->start(event);
}

// "Ended" means enqueued: when an operation has run its kernel says.
void PlanEvents::launched() {
  session_->stop(launch_);
  void* whole = nullptr;
  if (mask_ & kBelowGroup) {
    Event event{};
    event.type = kGroup;
    whole = session_->start(event);
  }
  for (Operation& operation : operations_) {
    const bool collective = operation.event.type == kCollective;
    if (!(operation.mask & (collective ? kBelowCollective : kBelowMessage))) continue;
    (collective ? operation.event.collective.parent_group : operation.event.message.parent_group) = whole;
    operation.handle = session_->start(operation.event);
  }
  for (const Operation& operation : operations_) {
    void* handle = operation.handle;
    session_->stop(handle);
  }
  session_->stop(whole);
  announced_.count_down();
}

void PlanEvents::launch_ended() { session_->stop(launch_); }

void PlanEvents::starts() {
  announced_.wait();
  for (Operation& operation : operations_) {
    if (!operation.handle || !(operation.mask & kKernelChannel)) continue;
    Event event{};
    event.type = kKernelChannel;
    event.parent = operation.handle;
    event.kernel_channel.timer = device_time();
    operation.kernel = session_->start(event);
  }
}

void PlanEvents::ended() {
  for (Operation& operation : operations_) {
    if (!operation.kernel) continue;
    StateArguments arguments{};
    arguments.kernel_channel.timer = device_time();
    session_->record(operation.kernel, kKernelChannelStop, &arguments);
    session_->stop(operation.kernel);
  }
}

}  // namespace ddpscope::standin::nccl::profiler
