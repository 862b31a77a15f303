// The API's part on communicators: creation, end, questions.
#include <cuda_runtime_api.h>

#include <vector>

#include "standin/nccl/boundary.h"
#include "standin/nccl/creation.h"
#include "standin/nccl/cuda.h"
#include "standin/nccl/failure.h"
#include "standin/nccl/group.h"
#include "standin/nccl/nvtx.h"

using namespace ddpscope::standin::nccl;

namespace {

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
