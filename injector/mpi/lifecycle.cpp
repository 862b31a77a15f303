// MPI begins and ends, and communicators with it.
#include "injector/mpi/recording.h"
#include "injector/processes/process_call.h"

using namespace ddpscope::injector;
using namespace ddpscope::injector::mpi;
namespace trace = ddpscope::trace;

namespace {

// It waits for the other ranks: the record is there before, with what the launcher says of rank and size.
OpenRecord begin_init(Call call, ProcessGroup*& group) {
  trace::FileWriter* file = recorder(Weight::kOpens);
  const GroupIdentity identity = world_to_be();
  OwnWork work(file);
  if (!work) return {};
  const auto* not_there_yet = reinterpret_cast<const void*>(std::uintptr_t{2});
  group = add_group(not_there_yet, identity);
  if (!group) return {};
  group->epoch = file->epoch();
  trace::payload::ProcessGroup payload = described(*file, *group);
  payload.handle = 0;
  std::uint32_t stack = current_stack(*file);
  std::uint64_t begin = now(*file);
  return call == Call::MPI_Init
             ? this_thread.writer.open<Call::MPI_Init>(*file, payload, begin, stack)
             : this_thread.writer.open<Call::MPI_Init_thread>(*file, payload, begin, stack);
}

void end_init(const OpenRecord& open, ProcessGroup* group, int result) {
  auto* payload = results_in<trace::payload::ProcessGroup>(open);
  bool is_there = result == kSuccess && abi() != Abi::kUnknown && world();
  if (group && is_there) {
    if (auto* rank = comm_rank.get()) rank(world(), &group->rank);
    if (auto* size = comm_size.get()) size(world(), &group->size);
    __atomic_store_n(&group->handle, reinterpret_cast<const void*>(world()), __ATOMIC_RELEASE);
  } else if (group) {
    remove_group(*group);
  }
  if (payload && is_there) {
    payload->handle = world();
    payload->rank = group->rank;
    payload->size = group->size;
  }
  if (payload) payload->result = result != kSuccess;
  end(open);
}

template <Call call, class... Params, class... Args>
int init(int (*self)(Params...), Args... arguments) {
  auto* function = real<call>(self);
  if (!function) return kNoMpi;
  ProcessGroup* group = nullptr;
  OpenRecord open = begin_init(call, group);
  int result = function(arguments...);
  end_init(open, group, result);
  return result;
}

// A collective on the parent. Ranks that are to be in no new communicator get none.
template <Call call, class... Params, class... Args>
int make(int (*self)(Params...), Handle parent, Handle* made, Args... arguments) {
  int result = blocking<call>(
      self, parent, [](const ProcessGroup&) { return Operation{}; }, arguments..., made);
  trace::FileWriter* file = open_recorder();
  ProcessGroup* group = file && result == kSuccess ? group_of(handle_in(made)) : nullptr;
  OwnWork work(group ? file : nullptr);
  if (work) announce<Call::mpi_communicator>(*file, *group);
  return result;
}

// The handle may be another communicator's as soon as the call has returned.
template <Call call, class... Params>
int give_back(int (*self)(Params...), Handle* communicator) {
  auto* function = real<call>(self);
  if (!function) return kNoMpi;
  ProcessGroup* group = find_group(reinterpret_cast<const void*>(handle_in(communicator)));
  trace::FileWriter* file = group ? open_recorder() : nullptr;
  OpenRecord open;
  if (OwnWork work(file); work) {
    announce<Call::mpi_communicator>(*file, *group);
    std::uint32_t stack = current_stack(*file);
    open = this_thread.writer.open<call>(*file, described(*file, *group), now(*file), stack);
  }
  if (group) remove_group(*group);
  int result = function(communicator);
  if (auto* payload = results_in<trace::payload::ProcessGroup>(open)) payload->result = result != kSuccess;
  end(open);
  return result;
}

}  // namespace

DDPSCOPE_EXPORT int MPI_Init(int* argc, char*** argv) { return init<Call::MPI_Init>(&MPI_Init, argc, argv); }

DDPSCOPE_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return init<Call::MPI_Init_thread>(&MPI_Init_thread, argc, argv, required, provided);
}

DDPSCOPE_EXPORT int MPI_Finalize() {
  return blocking<Call::MPI_Finalize>(&MPI_Finalize, world(),
                                      [](const ProcessGroup&) { return Operation{}; });
}

// MPICH's waits to be killed.
DDPSCOPE_EXPORT int MPI_Abort(Handle comm, int errorcode) {
  auto* function = real<Call::MPI_Abort>(&MPI_Abort);
  if (!function) return kNoMpi;
  note_end(Call::MPI_Abort, errorcode);
  return function(comm, errorcode);
}

DDPSCOPE_EXPORT int MPI_Comm_dup(Handle comm, Handle* newcomm) {
  return make<Call::MPI_Comm_dup>(&MPI_Comm_dup, comm, newcomm, comm);
}

DDPSCOPE_EXPORT int MPI_Comm_dup_with_info(Handle comm, Handle info, Handle* newcomm) {
  return make<Call::MPI_Comm_dup_with_info>(&MPI_Comm_dup_with_info, comm, newcomm, comm, info);
}

DDPSCOPE_EXPORT int MPI_Comm_split(Handle comm, int color, int key, Handle* newcomm) {
  return make<Call::MPI_Comm_split>(&MPI_Comm_split, comm, newcomm, comm, color, key);
}

DDPSCOPE_EXPORT int MPI_Comm_split_type(Handle comm, int split_type, int key, Handle info, Handle* newcomm) {
  return make<Call::MPI_Comm_split_type>(&MPI_Comm_split_type, comm, newcomm, comm, split_type, key, info);
}

DDPSCOPE_EXPORT int MPI_Comm_create(Handle comm, Handle group, Handle* newcomm) {
  return make<Call::MPI_Comm_create>(&MPI_Comm_create, comm, newcomm, comm, group);
}

DDPSCOPE_EXPORT int MPI_Cart_create(Handle comm, int ndims, const int* dims, const int* periods, int reorder,
                                    Handle* newcomm) {
  return make<Call::MPI_Cart_create>(&MPI_Cart_create, comm, newcomm, comm, ndims, dims, periods, reorder);
}

DDPSCOPE_EXPORT int MPI_Cart_sub(Handle comm, const int* remain_dims, Handle* newcomm) {
  return make<Call::MPI_Cart_sub>(&MPI_Cart_sub, comm, newcomm, comm, remain_dims);
}

DDPSCOPE_EXPORT int MPI_Comm_free(Handle* comm) {
  return give_back<Call::MPI_Comm_free>(&MPI_Comm_free, comm);
}

DDPSCOPE_EXPORT int MPI_Comm_disconnect(Handle* comm) {
  return give_back<Call::MPI_Comm_disconnect>(&MPI_Comm_disconnect, comm);
}
