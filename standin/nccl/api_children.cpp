// The API's part on communicators that come of others: split, shrunk, grown; and on those that rest.
#include <cuda_runtime_api.h>

#include <vector>

#include "standin/nccl/boundary.h"
#include "standin/nccl/creation.h"
#include "standin/nccl/cuda.h"
#include "standin/nccl/group.h"
#include "standin/nccl/nvtx.h"

using namespace ddpscope::standin::nccl;

namespace {

/// A configuration of its own replaces the parent's.
std::string child_name(const Communicator& parent, const ncclConfig_t* config) {
  return config ? name_in(config) : parent.name();
}

enum MemoryStatistic : ncclCommMemStat_t { kSuspendable, kSuspended, kPersistent, kTotal };
constexpr int kSuspendMemory = 1;  // NCCL_SUSPEND_MEM

}  // namespace

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
      group::run(parent.get(), [child, connect] {
        connect(*child);
        return false;
      });
      return ncclSuccess;
    } else {
      const bool goes_on =
          create(&required(newcomm, "newcomm"), child, is_non_blocking(config), connect, parent.get());
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
    const bool goes_on = create(
        &required(newcomm, "newcomm"),
        std::make_shared<Communicator>(parent->device(), child_name(*parent, config)),
        is_non_blocking(config), [parent, excluded](Communicator& self) { self.shrink(*parent, excluded); },
        parent.get());
    range.end_with([&] {
      return nvtx::Shrunk{parent->hash(), parent->size(), parent->rank(), parent->device(),
                          excludeRanksCount};
    });
    return result_if(goes_on);
  });
}
STANDIN_PROFILING_TWIN(ncclCommShrink);

// NCCL 2.29.
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId) {
  return guarded(__func__, [&] {
    ncclUniqueId& id = required(uniqueId, "uniqueId");
    id = find_connected(comm)->make_id_to_grow();
  });
}
STANDIN_PROFILING_TWIN(ncclCommGetUniqueId);

// NCCL 2.29. Who is in the parent keeps its rank and need not know the id; who joins has no parent.
ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                          ncclComm_t* newcomm, ncclConfig_t* config) {
  return guarded(__func__, [&] {
    check_config(config);
    if (!comm) {
      const ncclUniqueId& id = required(uniqueId, "uniqueId");
      return result_if(create_by_id(newcomm, current_device(), id, rank, nRanks, config));
    }
    const auto parent = find_connected(comm);
    if (rank != -1) throw Failure(ncclInvalidArgument, "rank must be -1 for a rank of the parent");
    if (nRanks <= parent->size())
      throw Failure(ncclInvalidArgument, "nRanks must be larger than the parent's " +
                                             std::to_string(parent->size()) + ": " + std::to_string(nRanks));
    return result_if(create(
        &required(newcomm, "newcomm"),
        std::make_shared<Communicator>(parent->device(), child_name(*parent, config)),
        is_non_blocking(config), [parent, nRanks](Communicator& self) { self.grow(*parent, nRanks); },
        parent.get()));
  });
}
STANDIN_PROFILING_TWIN(ncclCommGrow);

// NCCL 2.29. There is no device memory to give back; the communicator cannot be used all the same.
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags) {
  return guarded(__func__, [&] {
    if (flags != kSuspendMemory) throw Failure(ncclInvalidArgument, "flags must be NCCL_SUSPEND_MEM");
    find_connected(comm)->suspend();
  });
}
STANDIN_PROFILING_TWIN(ncclCommSuspend);

ncclResult_t ncclCommResume(ncclComm_t comm) {
  return guarded(__func__, [&] { find_connected(comm)->resume(); });
}
STANDIN_PROFILING_TWIN(ncclCommResume);

ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, std::uint64_t* value) {
  return guarded(__func__, [&] {
    const auto communicator = find_connected(comm);
    if (stat < kSuspendable || stat > kTotal) throw Failure(ncclInvalidArgument, "no such statistic");
    required(value, "value") = stat == kSuspended && communicator->suspended() ? 1 : 0;
  });
}
STANDIN_PROFILING_TWIN(ncclCommMemStats);
