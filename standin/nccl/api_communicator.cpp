// The API's part on communicators: creation, end, questions.
#include <cuda_runtime_api.h>

#include <vector>

#include "standin/nccl/boundary.h"
#include "standin/nccl/cuda.h"
#include "standin/nccl/failure.h"
#include "standin/nccl/group.h"
#include "standin/nccl/link_model.h"
#include "standin/nccl/nvtx.h"

using namespace ddpscope::standin::nccl;

namespace {

constexpr unsigned kConfigMagic = 0xcafebeef;

template <typename T>
T& required(T* pointer, const char* name) {
  if (!pointer) throw Failure(ncclInvalidArgument, std::string(name) + " argument is NULL");
  return *pointer;
}

void check_config(const ncclConfig_t* config) {
  if (!config) return;
  if (config->magic != kConfigMagic) {
    throw Failure(ncclInvalidArgument, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
  }
  if (config->blocking != NCCL_CONFIG_UNDEF_INT && config->blocking != 0 && config->blocking != 1) {
    throw Failure(ncclInvalidArgument,
                  "Invalid config blocking attribute value " + std::to_string(config->blocking));
  }
}

bool is_non_blocking(const ncclConfig_t* config) { return config && config->blocking == 0; }

/// Hands out the handle before the communicator is connected, as NCCL does, so that another thread can abort
/// a creation that waits for a rank that never comes. A failed creation takes the handle back; one that does
/// not block leaves it, with its error. True: it goes on.
bool create(ncclComm_t* handle, const std::shared_ptr<Communicator>& communicator, bool non_blocking,
            std::function<void(Communicator&)> connect) {
  nvtx::register_reductions();
  link_model();  // what cannot be read is refused here, not in the middle of the job
  *handle = add_handle(communicator);
  return group::run([handle, communicator, non_blocking, connect = std::move(connect)] {
    if (non_blocking) {
      communicator->connect_later(connect);
      return true;
    }
    try {
      connect(*communicator);
      return false;
    } catch (...) {
      remove_handle(*handle);
      *handle = nullptr;
      throw;
    }
  });
}

nvtx::Seat seat_of(const Communicator& communicator) {
  return {communicator.hash(), communicator.size(), communicator.rank(), communicator.device()};
}

nvtx::Seat seat_of_handle(ncclComm_t comm) {
  try {
    return seat_of(*find_handle(comm));
  } catch (const Failure&) {
    return {};
  }
}

std::string name_in(const ncclConfig_t* config) { return config && config->commName ? config->commName : ""; }

ncclResult_t result_if(bool goes_on) { return goes_on ? ncclInProgress : ncclSuccess; }

bool create_by_id(ncclComm_t* handle, int device, const ncclUniqueId& id, int rank, int size,
                  const ncclConfig_t* config = nullptr) {
  if (size < 1 || rank < 0 || rank >= size) {
    throw Failure(ncclInvalidArgument,
                  "Invalid rank requested : " + std::to_string(rank) + "/" + std::to_string(size));
  }
  return create(&required(handle, "comm"), std::make_shared<Communicator>(device, name_in(config)),
                is_non_blocking(config),
                [id, rank, size](Communicator& communicator) { communicator.init(id, rank, size); });
}

/// A configuration of its own replaces the parent's.
std::string child_name(const Communicator& parent, const ncclConfig_t* config) {
  return config ? name_in(config) : parent.name();
}

std::vector<int> checked_devices(int count, const int* list) {
  int present = 0;
  check_cuda(cudaGetDeviceCount(&present));
  std::vector<int> devices;
  for (int i = 0; i < count; ++i) {
    const int device = list ? list[i] : i;
    if (device < 0 || device >= present)
      throw Failure(ncclInvalidArgument, "Invalid device " + std::to_string(device));
    for (const int other : devices) {
      if (other == device)
        throw Failure(ncclInvalidUsage, "Device " + std::to_string(device) + " is repeated");
    }
    devices.push_back(device);
  }
  return devices;
}

}  // namespace

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  return guarded(__func__, [&] {
    nvtx::register_reductions();
    required(uniqueId, "uniqueId") = make_unique_id();
  });
}
STANDIN_PROFILING_TWIN(ncclGetUniqueId);

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  nvtx::Range<nvtx::CommInitRank> range;
  return guarded(__func__, [&] {
    create_by_id(comm, current_device(), commId, rank, nranks);
    range.end_with([&] { return seat_of(*find_handle(*comm)); });
  });
}
STANDIN_PROFILING_TWIN(ncclCommInitRank);

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  nvtx::Range<nvtx::CommInitRankConfig> range;
  return guarded(__func__, [&] {
    check_config(config);
    const bool goes_on = create_by_id(comm, current_device(), commId, rank, nranks, config);
    range.end_with([&] { return seat_of(*find_handle(*comm)); });
    return result_if(goes_on);
  });
}
STANDIN_PROFILING_TWIN(ncclCommInitRankConfig);

ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config) {
  nvtx::Range<nvtx::CommInitRankScalable> range;
  return guarded(__func__, [&] {
    check_config(config);
    if (nId < 1 || nId > nranks)
      throw Failure(ncclInvalidArgument, "Invalid number of ids " + std::to_string(nId));
    const bool goes_on =
        create_by_id(newcomm, current_device(), required(commIds, "commIds"), myrank, nranks, config);
    range.end_with([&] { return seat_of(*find_handle(*newcomm)); });
    return result_if(goes_on);
  });
}
STANDIN_PROFILING_TWIN(ncclCommInitRankScalable);

ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  nvtx::Range<nvtx::CommInitAll> range;
  return guarded(__func__, [&] {
    required(comm, "comm");
    if (ndev < 1)
      throw Failure(ncclInvalidArgument, "Invalid device count requested : " + std::to_string(ndev));
    const auto devices = checked_devices(ndev, devlist);
    const ncclUniqueId id = make_unique_id();
    group::start();
    for (int rank = 0; rank < ndev; ++rank) {
      create_by_id(comm + rank, devices[static_cast<std::size_t>(rank)], id, rank, ndev);
    }
    group::end();
    range.end_with([&] { return nvtx::Devices{find_handle(comm[0])->hash(), ndev}; });
  });
}
STANDIN_PROFILING_TWIN(ncclCommInitAll);

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config) {
  nvtx::Range<nvtx::CommSplit> range;
  return guarded(__func__, [&] {
    check_config(config);
    if (color < 0 && color != NCCL_SPLIT_NOCOLOR) throw Failure(ncclInvalidArgument, "Invalid color");
    const auto parent = find_connected(comm);
    const auto child = std::make_shared<Communicator>(parent->device(), child_name(*parent, config));
    const auto connect = [parent, color, key](Communicator& self) { self.split(*parent, color, key); };
    if (color == NCCL_SPLIT_NOCOLOR) {
      required(newcomm, "newcomm") = NCCL_COMM_NULL;
      group::run([child, connect] {
        connect(*child);
        return false;
      });
      return ncclSuccess;
    } else {
      const bool goes_on = create(&required(newcomm, "newcomm"), child, is_non_blocking(config), connect);
      range.end_with([&] {
        return nvtx::Child{
            child->hash(), parent->hash(), parent->size(), parent->rank(), parent->device(), color, key};
      });
      return result_if(goes_on);
    }
  });
}
STANDIN_PROFILING_TWIN(ncclCommSplit);

ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                            ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags) {
  nvtx::Range<nvtx::CommShrink> range;
  return guarded(__func__, [&] {
    check_config(config);
    const auto parent = find_connected(comm);
    if (excludeRanksCount < 1) throw Failure(ncclInvalidArgument, "no ranks to exclude");
    const std::vector<int> excluded(&required(excludeRanksList, "excludeRanksList"),
                                    excludeRanksList + excludeRanksCount);
    for (const int rank : excluded) {
      if (rank < 0 || rank >= parent->size()) throw Failure(ncclInvalidArgument, "Invalid rank to exclude");
      if (rank == parent->rank()) throw Failure(ncclInvalidUsage, "an excluded rank must not call this");
    }
    if (shrinkFlags & NCCL_SHRINK_ABORT) parent->release();
    const bool goes_on = create(&required(newcomm, "newcomm"),
                                std::make_shared<Communicator>(parent->device(), child_name(*parent, config)),
                                is_non_blocking(config),
                                [parent, excluded](Communicator& self) { self.shrink(*parent, excluded); });
    range.end_with([&] {
      return nvtx::Shrunk{parent->hash(), parent->size(), parent->rank(), parent->device(),
                          excludeRanksCount};
    });
    return result_if(goes_on);
  });
}
STANDIN_PROFILING_TWIN(ncclCommShrink);

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  nvtx::Range<nvtx::CommFinalize> range;
  return guarded(__func__, [&] {
    const auto communicator = find_connected(comm);
    communicator->finalize();
    range.end_with([&] { return nvtx::Id{communicator->hash()}; });
  });
}
STANDIN_PROFILING_TWIN(ncclCommFinalize);

// The handle stays valid while it waits, so that a watchdog can abort a communicator whose destruction hangs.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm) {
    const nvtx::Range<nvtx::CommDestroy> range;
    return guarded(__func__, [] {});
  }
  const nvtx::Range<nvtx::CommDestroy> range([&] { return seat_of_handle(comm); });
  return guarded(__func__, [&] {
    const auto communicator = find_connected(comm);
    communicator->drain();
    communicator->end_profiling();
    remove_handle(comm);
  });
}
STANDIN_PROFILING_TWIN(ncclCommDestroy);

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  nvtx::Range<nvtx::CommAbort> range;
  return guarded(__func__, [&] {
    if (!comm) return;
    const auto communicator = find_handle(comm);
    range.end_with([&] { return seat_of(*communicator); });
    communicator->abort();
    communicator->end_profiling();
    remove_handle(comm);
  });
}
STANDIN_PROFILING_TWIN(ncclCommAbort);

ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags) {
  nvtx::Range<nvtx::CommRevoke> range;
  return guarded(__func__, [&] {
    if (revokeFlags != NCCL_REVOKE_DEFAULT) throw Failure(ncclInvalidArgument, "revokeFlags must be 0");
    const auto communicator = find_handle(comm);
    range.end_with([&] { return seat_of(*communicator); });
    communicator->release();
  });
}
STANDIN_PROFILING_TWIN(ncclCommRevoke);

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  return guarded(__func__, [&] { required(asyncError, "asyncError") = find_handle(comm)->async_error(); });
}
STANDIN_PROFILING_TWIN(ncclCommGetAsyncError);

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  const nvtx::Range<nvtx::CommCount> range;
  return guarded(__func__, [&] { required(count, "count") = find_connected(comm)->size(); });
}
STANDIN_PROFILING_TWIN(ncclCommCount);

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  const nvtx::Range<nvtx::CommCuDevice> range;
  return guarded(__func__, [&] { required(device, "device") = find_connected(comm)->device(); });
}
STANDIN_PROFILING_TWIN(ncclCommCuDevice);

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  const nvtx::Range<nvtx::CommUserRank> range;
  return guarded(__func__, [&] { required(rank, "rank") = find_connected(comm)->rank(); });
}
STANDIN_PROFILING_TWIN(ncclCommUserRank);
