// How communicators come to be and end.
#include "injector/cuda/device.h"
#include "injector/nccl/recording.h"
#include "nccl_newer.h"

using namespace ddpscope::injector;

namespace {

using ddpscope::trace::payload::Communicator;

Communicator describe(std::uint64_t id, std::uint32_t parent, int rank, int size, int color) {
  return {id,
          0,
          next_communicator_number(),
          parent,
          rank,
          size,
          color,
          static_cast<std::uint8_t>(current_device()),
          0};
}

// A thread that made no CUDA call of its own has set no device: then NCCL knows.
std::uint8_t device_of(ncclComm_t handle, std::uint8_t device, ncclResult_t result) {
  if (device != static_cast<std::uint8_t>(kUnknownDevice) || result != ncclSuccess) return device;
  auto* ask = real<Call::ncclCommCuDevice>(&ncclCommCuDevice);
  int answer = kUnknownDevice;
  if (ask) ask(handle, &answer);
  return static_cast<std::uint8_t>(answer);
}

// Known only after the call: the handle. A non-blocking init hands it out at once, with ncclInProgress.
void created(const OpenRecord& open, Communicator description, const ncclComm_t* handle,
             ncclResult_t result) {
  bool has_handle = (result == ncclSuccess || result == ncclInProgress) && handle && *handle;
  if (has_handle) {
    description.device = device_of(*handle, description.device, result);
    add_communicator(*handle, description.id, description.communicator, description.device);
  }
  if (auto* fields = results_in<Communicator>(open)) {
    fields->device = description.device;
    fields->handle = has_handle ? as_number(*handle) : 0;
  }
  finish<Communicator>(open, result);
}

template <Call call, class... Params, class... Args>
ncclResult_t init(ncclResult_t (*self)(Params...), const ncclUniqueId& id, int rank, int size,
                  ncclComm_t* handle, Args... args) {
  auto* function = real<call>(self);
  if (!function) return kNoNccl;
  if (inside_vendor_call()) return function(args...);
  Communicator description = describe(id_of(id), 0, rank, size, -1);
  OpenRecord open = begin<call>(Weight::kOpens, description, Stack::kTaken);
  VendorCall vendor;
  ncclResult_t result = function(args...);
  created(open, description, handle, result);
  return result;
}

// Rank and size of a child are NCCL's to say, and only after the call.
void ask_place(const OpenRecord& open, ncclComm_t handle, ncclResult_t result) {
  auto* payload = results_in<Communicator>(open);
  if (result != ncclSuccess || !handle || !payload) return;
  auto* user_rank = real<Call::ncclCommUserRank>(&ncclCommUserRank);
  auto* count = real<Call::ncclCommCount>(&ncclCommCount);
  if (user_rank) user_rank(handle, &payload->rank);
  if (count) count(handle, &payload->size);
}

// `told`: the color of a split, the flags of a shrink. Only by colors does one call make several children.
template <Call call, class... Params, class... Args>
ncclResult_t split(ncclResult_t (*self)(Params...), ncclComm_t parent, int told, ncclComm_t* handle,
                   Args... args) {
  auto* function = real<call>(self);
  if (!function) return kNoNccl;
  if (inside_vendor_call()) return function(args...);
  CommunicatorState* known = find_communicator(parent);
  std::uint32_t turn = known ? __atomic_fetch_add(&known->splits, 1, __ATOMIC_RELAXED) : 0;
  int color = call == Call::ncclCommSplit ? told : 0;
  std::uint64_t id = known ? id_of_child(known->id, turn, color) : 0;
  Communicator description = describe(id, known ? known->number : 0, -1, 0, told);
  if (known) description.device = known->device;  // whichever is current in this thread
  OpenRecord open = begin<call>(Weight::kOpens, description, Stack::kTaken);
  VendorCall vendor;
  ncclResult_t result = function(args...);
  if (handle) ask_place(open, *handle, result);
  created(open, description, handle, result);
  return result;
}

// Destroyed and aborted handles are forgotten before the call: NCCL may give the address to another thread's
// next one.
template <Call call, class... Args>
ncclResult_t leave(ncclResult_t (*self)(ncclComm_t, Args...), ncclComm_t communicator, Args... args) {
  CommunicatorState* known = find_communicator(communicator);
  std::uint32_t number = known ? known->number : 0;
  auto* function = real<call>(self);
  if (!function) return kNoNccl;
  if (inside_vendor_call()) return function(communicator, args...);
  OpenRecord open = begin<call>(Weight::kOpens, {as_number(communicator), 0, number, 1, 0, 0}, Stack::kTaken);
  remove_communicator(communicator);
  VendorCall vendor;
  ncclResult_t result = function(communicator, args...);
  finish<PayloadOf<call>>(open, result);
  return result;
}

}  // namespace

DDPSCOPE_EXPORT ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return init<Call::ncclCommInitRank>(&ncclCommInitRank, commId, rank, nranks, comm, comm, nranks, commId,
                                      rank);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId,
                                                    int rank, ncclConfig_t* config) {
  return init<Call::ncclCommInitRankConfig>(&ncclCommInitRankConfig, commId, rank, nranks, comm, comm, nranks,
                                            commId, rank, config);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                                      ncclUniqueId* commIds, ncclConfig_t* config) {
  static const ncclUniqueId kNone = {};
  return init<Call::ncclCommInitRankScalable>(&ncclCommInitRankScalable,
                                              nId > 0 && commIds ? commIds[0] : kNone, myrank, nranks,
                                              newcomm, newcomm, nranks, myrank, nId, commIds, config);
}

// One record a rank. The communicator's id is this process's own: no other process takes part.
DDPSCOPE_EXPORT ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  auto* function = real<Call::ncclCommInitAll>(&ncclCommInitAll);
  if (!function) return kNoNccl;
  if (inside_vendor_call()) return function(comm, ndev, devlist);
  ddpscope::trace::FileWriter* file = recorder(Weight::kOpens);
  ncclResult_t result;
  std::uint64_t begun = file ? now(*file) : 0;
  {
    VendorCall vendor;
    result = function(comm, ndev, devlist);
  }
  if (!file || result != ncclSuccess) return result;
  const std::uint64_t words[] = {file->header().start_time, static_cast<std::uint64_t>(file->header().pid),
                                 begun};
  std::uint64_t id = ddpscope::trace::hash_bytes(words, sizeof(words));
  for (int rank = 0; rank < ndev; ++rank) {
    Communicator description = describe(id, 0, rank, ndev, -1);
    description.device = static_cast<std::uint8_t>(devlist ? devlist[rank] : rank);
    OpenRecord open = begin<Call::ncclCommInitAll>(Weight::kOpens, description);
    if (open) open.record->begin = begun;
    created(open, description, &comm[rank], result);
  }
  return result;
}

DDPSCOPE_EXPORT ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                                           ncclConfig_t* config) {
  return split<Call::ncclCommSplit>(&ncclCommSplit, comm, color, newcomm, comm, color, key, newcomm, config);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                                            ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags) {
  return split<Call::ncclCommShrink>(&ncclCommShrink, comm, shrinkFlags, newcomm, comm, excludeRanksList,
                                     excludeRanksCount, newcomm, config, shrinkFlags);
}

// Ranks that were in the old communicator know it and not the id, new ones the id and not the communicator:
// the two meet in the record of ncclCommGetUniqueId.
DDPSCOPE_EXPORT ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                                          ncclComm_t* newcomm, ncclConfig_t* config) {
  if (!comm && uniqueId)
    return init<Call::ncclCommGrow>(&ncclCommGrow, *uniqueId, rank, nRanks, newcomm, comm, nRanks, uniqueId,
                                    rank, newcomm, config);
  return split<Call::ncclCommGrow>(&ncclCommGrow, comm, 0, newcomm, comm, nRanks, uniqueId, rank, newcomm,
                                   config);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return communicator_call<Call::ncclCommFinalize>(&ncclCommFinalize, comm, 0, comm);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return leave<Call::ncclCommDestroy>(&ncclCommDestroy, comm);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return leave<Call::ncclCommAbort>(&ncclCommAbort, comm);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags) {
  return communicator_call<Call::ncclCommRevoke>(&ncclCommRevoke, comm, static_cast<unsigned>(revokeFlags),
                                                 comm, revokeFlags);
}
