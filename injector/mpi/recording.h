// Records MPI's calls on a communicator: a hook is one expression.
#pragma once
#include "injector/mpi/communicators.h"
#include "injector/process_groups/works.h"
#include "trace/process_groups.h"

namespace ddpscope::injector::mpi {

// What an operation does, besides the communicator that it is on.
struct Operation {
  std::uint64_t count = 0;  // 0 where each rank may have another one
  std::uint8_t datatype = kUnknownType;
  std::uint8_t reduction = trace::kNoReduction;
  std::int32_t peer = -1;  // root, or the other end of a message
  std::int32_t tag = 0;
};

// What the hook of a call on a communicator has to know once the call has returned.
struct OpenOperation {
  OpenRecord record;
  std::uint64_t operation = 0;  // communicator and sequence, as in works.h
};

// `describe`: Operation(const ProcessGroup&), asks MPI if it likes.
template <Call call, class Describe>
OpenOperation begin_operation(Handle communicator, std::uint32_t flags, Describe describe) {
  trace::FileWriter* file = recorder(Weight::kOpens);
  if (!file) return {};
  ProcessGroup* group = group_of(communicator);
  if (!group) {
    file->count(trace::Health::unknown_communicators);
    return {};
  }
  const Operation operation = describe(*group);
  OwnWork work(file);
  if (!work) return {};
  announce<Call::mpi_communicator>(*file, *group);
  std::uint32_t sequence = __atomic_fetch_add(&group->operations, 1, __ATOMIC_RELAXED);
  trace::payload::GroupCollective payload{group->number,
                                          sequence,
                                          operation.count,
                                          flags,
                                          operation.tag,
                                          0,
                                          operation.peer,
                                          operation.datatype,
                                          operation.reduction,
                                          0,
                                          0};
  std::uint32_t stack = current_stack(*file);
  return {this_thread.writer.open_regular<call>(*file, payload, now(*file), stack),
          operation_of(group->number, sequence)};
}

constexpr int kSuccess = 0;  // MPI_SUCCESS
constexpr int kNoMpi =
    16;  // what a hook returns when MPI cannot be found behind us: MPI_ERR_OTHER or near it
constexpr std::uint32_t kBlockingCall = trace::kSynchronous | trace::kBlocking;

inline void end_operation(const OpenOperation& open, int result) {
  if (auto* payload = results_in<trace::payload::GroupCollective>(open.record))
    payload->result = result != kSuccess;
  end(open.record);
}

template <Call call, class... Params, class Describe, class... Args>
int blocking(int (*self)(Params...), Handle communicator, Describe describe, Args... arguments) {
  auto* function = real<call>(self);
  if (!function) return kNoMpi;
  OpenOperation open = begin_operation<call>(communicator, kBlockingCall, describe);
  int result = function(arguments...);
  end_operation(open, result);
  return result;
}

// The request stands for the operation, until a wait or a test has found it complete (waits.cpp).
inline const void* request_in(const Handle* request) {
  return reinterpret_cast<const void*>(handle_in(request));
}

template <Call call, class... Params, class Describe, class... Args>
int begun(int (*self)(Params...), Handle communicator, Describe describe, Handle* request,
          Args... arguments) {
  auto* function = real<call>(self);
  if (!function) return kNoMpi;
  OpenOperation open = begin_operation<call>(communicator, trace::kAsynchronous, describe);
  int result = function(arguments..., request);
  end_operation(open, result);
  if (open.operation && result == kSuccess) remember_work(request_in(request), {open.operation, 0});
  return result;
}

// The descriptions. What a datatype is made of, each rank may put in its own way: bytes are what has to
// agree.
inline Operation data(int count, Handle datatype, int root = -1) {
  return {.count = static_cast<std::uint64_t>(count) * type_bytes(datatype), .datatype = 1, .peer = root};
}
inline Operation reduced(std::uint64_t count, Handle datatype, Handle operation, int root = -1) {
  std::uint8_t type = type_code(datatype);
  bool named = type != kUnknownType;
  return {.count = named ? count : count * type_bytes(datatype),
          .datatype = named ? type : std::uint8_t{1},
          .reduction = reduction_code(operation),
          .peer = root};
}
inline Operation reduced(int count, Handle datatype, Handle operation, int root = -1) {
  return reduced(static_cast<std::uint64_t>(count), datatype, operation, root);
}

}  // namespace ddpscope::injector::mpi
