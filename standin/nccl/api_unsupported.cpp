// What needs memory shared between GPUs, the device API. Refused, and said once who asked. The
// symbols are weak, so that nm tells what is refused (W) from what is provided (T).
#include <dlfcn.h>

#include <atomic>

#include "standin/nccl/boundary.h"
#include "standin/nccl/log.h"

using namespace ddpscope::standin::nccl;

// The device API's types, as nccl_device/core.h lays them out; that header is for device code.
struct ncclTeam {
  int nRanks, rank, stride;
};
struct ncclMultimemHandle {
  void* mcBasePtr;
};

namespace {

/// Prints once per function, with the library or program that `caller` lies in.
void refuse(const char* function, std::atomic<bool>& said, void* caller) {
  if (said.exchange(true)) return;
  Dl_info module{};
  dladdr(caller, &module);
  say(std::string(function) + " is not provided by this stand-in; asked for by " +
      (module.dli_fname && *module.dli_fname ? module.dli_fname : "the program"));
}

}  // namespace

#define REFUSED(result_type, result, name, parameters)                               \
  extern "C" [[gnu::weak, gnu::visibility("default")]] result_type name parameters { \
    static constinit std::atomic<bool> said{false};                                  \
    refuse(#name, said, __builtin_return_address(0));                                \
    return result;                                                                   \
  }                                                                                  \
  STANDIN_PROFILING_TWIN(name)

#define REFUSED_REQUEST(name, ...) REFUSED(ncclResult_t, ncclInvalidUsage, name, (__VA_ARGS__))

REFUSED_REQUEST(ncclDevCommCreate, ncclComm_t, const void*, void*);
REFUSED_REQUEST(ncclDevCommDestroy, ncclComm_t, const void*);

// Pointers and endpoints for kernels that reach into a peer's window.
REFUSED_REQUEST(ncclGetLsaDevicePointer, ncclWindow_t, size_t, int, void**);
REFUSED_REQUEST(ncclGetPeerDevicePointer, ncclWindow_t, size_t, int, void**);
REFUSED_REQUEST(ncclGetLsaMultimemDevicePointer, ncclWindow_t, size_t, void**);
REFUSED_REQUEST(ncclGetMultimemDevicePointer, ncclWindow_t, size_t, ncclMultimemHandle, void**);
REFUSED_REQUEST(ncclGetMultimemDeviceLeInfo, ncclWindow_t, size_t, void*, size_t*);
REFUSED_REQUEST(ncclGetCftDeviceLeInfo, ncclWindow_t, size_t, int, ncclTeam, void*, size_t*);
REFUSED_REQUEST(ncclGetPeerDeviceLeInfo, ncclWindow_t, size_t, int, void*, size_t*);

REFUSED_REQUEST(ncclLsaBarrierCreateRequirement, ncclTeam, int, void*, void*);
REFUSED_REQUEST(ncclGinBarrierCreateRequirement, ncclComm_t, ncclTeam, int, void*, void*);
REFUSED_REQUEST(ncclLLA2ACreateRequirement, int, int, void*, void*);
REFUSED_REQUEST(ncclGinOutboxCreateRequirement, int, int, void*, void*);
REFUSED_REQUEST(ncclGinInboxA2ACreateRequirement, ncclTeam, int, int, void*, void*);
REFUSED(int, 0, ncclLLA2ACalcSlots, (int, int));

REFUSED(ncclTeam, {}, ncclTeamWorld, (ncclComm_t));
REFUSED(ncclTeam, {}, ncclTeamLsa, (ncclComm_t));
REFUSED(ncclTeam, {}, ncclTeamRail, (ncclComm_t));
REFUSED(ncclTeam, {}, ncclTeamCft, (ncclComm_t, int));
REFUSED(ncclTeam, {}, ncclTeamCftMultimem, (ncclComm_t));
REFUSED(int, -1, ncclTeamRankToWorld, (ncclComm_t, ncclTeam, int));
REFUSED(int, -1, ncclTeamRankToLsa, (ncclComm_t, ncclTeam, int));
