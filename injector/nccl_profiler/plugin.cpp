// Handles that NCCL is given are numbers of places in a ring: the oldest give way, and what is told of them
// later is told to nobody.
#include "injector/nccl_profiler/plugin.h"

#include <unistd.h>

#include "injector/core/hook.h"
#include "injector/nccl_profiler/recorded.h"

namespace ddpscope::injector::profiler {
namespace {

constexpr std::uint32_t kEvents = 16384;  // a power of two

struct Event {
  std::uint64_t stamp;  // __atomic: the handle that means it
  Session* session;
  void* other;  // the other plugin's handle
  OperationRef operation;
  std::uint32_t type;
};
Event events[kEvents];
std::uint64_t events_so_far;  // __atomic

Event* event_of(void* handle) {
  auto stamp = reinterpret_cast<std::uint64_t>(handle);
  Event& place = events[stamp % kEvents];
  return stamp && __atomic_load_n(&place.stamp, __ATOMIC_ACQUIRE) == stamp ? &place : nullptr;
}

void* make_event(Session& session, std::uint32_t type, void* other, OperationRef operation) {
  std::uint64_t stamp = __atomic_add_fetch(&events_so_far, 1, __ATOMIC_RELAXED);
  Event& place = events[stamp % kEvents];
  __atomic_store_n(&place.stamp, 0, __ATOMIC_RELEASE);
  place = Event{0, &session, other, operation, type};
  __atomic_store_n(&place.stamp, stamp, __ATOMIC_RELEASE);
  return reinterpret_cast<void*>(stamp);
}

void* others_handle(void* handle) {
  Event* event = event_of(handle);
  return event ? event->other : nullptr;
}

// While it lives, the parents of NCCL's event are the other plugin's.
template <class Descriptor>
class OthersParents {
 public:
  explicit OthersParents(Descriptor& event) : event_(event), parent_(event.parent) {
    // The parent of another process's operation is known there alone.
    if (event.type == kProxyOp && event.proxy_op.pid != getpid()) return;
    event.parent = others_handle(parent_);
    if (void** group = parent_group()) {
      group_ = *group;
      *group = others_handle(group_);
    }
  }
  ~OthersParents() {
    event_.parent = parent_;
    if (void** group = parent_group()) *group = group_;
  }
  OthersParents(const OthersParents&) = delete;
  OthersParents& operator=(const OthersParents&) = delete;

 private:
  void** parent_group() {
    if constexpr (requires { event_.collective.parent_group; }) {
      if (event_.type == kCollective) return &event_.collective.parent_group;
      if (event_.type == kMessage) return &event_.message.parent_group;
    }
    return nullptr;
  }

  Descriptor& event_;
  void* parent_;
  void* group_ = nullptr;
};

OperationRef parents_operation(void* parent) {
  Event* event = event_of(parent);
  return event ? event->operation : 0;
}

bool is_recorded(std::uint32_t type) {
  return type & (kCollective | kMessage | kCollectiveApi | kMessageApi | kKernelChannel);
}

}  // namespace

template <int version>
ncclResult_t start_event(void* context, void** handle, typename EventOf<version>::Type* event) {
  *handle = nullptr;
  Session* session = session_of(context);
  if (!session) return ncclSuccess;
  auto type = static_cast<std::uint32_t>(event->type);
  OperationRef operation = 0;
  if (session->tells && is_recorded(type))
    operation = begin_recorded(*session, read<version>(*event), parents_operation(event->parent));
  void* other = nullptr;
  ncclResult_t result = ncclSuccess;
  if (wants(other_mask_of(*session), type)) {
    OthersParents<typename EventOf<version>::Type> parents(*event);
    result = start_other<version>(session->other, session->other_context, &other, event);
  }
  if (other || operation) *handle = make_event(*session, type, other, operation);
  return result;
}

template ncclResult_t start_event<1>(void*, void**, EventV1*);
template ncclResult_t start_event<2>(void*, void**, EventV2*);
template ncclResult_t start_event<3>(void*, void**, EventV3*);
template ncclResult_t start_event<4>(void*, void**, EventV4*);
template ncclResult_t start_event<5>(void*, void**, EventV5*);
template ncclResult_t start_event<6>(void*, void**, EventV5*);

ncclResult_t stop_event(void* handle) {
  Event* event = event_of(handle);
  if (!event) return ncclSuccess;
  if (event->operation) end_recorded(*event->session, event->type, event->operation);
  return event->other ? stop_other(event->session->other, event->other) : ncclSuccess;
}

ncclResult_t record_state(void* handle, int state, StateArguments* arguments) {
  Event* event = event_of(handle);
  if (!event) return ncclSuccess;
  if (event->operation && state == kKernelChannelStop && arguments)
    note_end(event->operation, {arguments->timer, true});
  return event->other ? record_other(event->session->other, event->other, state, arguments) : ncclSuccess;
}

}  // namespace ddpscope::injector::profiler
