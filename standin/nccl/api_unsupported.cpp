// What needs memory shared between GPUs: windows and the device API. Refused, and said once who asked.
#include <dlfcn.h>

#include <atomic>

#include "standin/nccl/boundary.h"
#include "standin/nccl/log.h"

using namespace ddpscope::standin::nccl;

// The device API's types, as nccl_device/core.h lays them out; that header is for device code.
struct ncclTeam {
  int nRanks, rank, stride;
};

namespace {

/// Prints once per function, with the library or program that `caller` lies in.
ncclResult_t refuse(const char* function, std::atomic<bool>& said, void* caller) {
  if (!said.exchange(true)) {
    Dl_info module{};
    dladdr(caller, &module);
    say(std::string(function) + " is not provided by this stand-in; asked for by " +
        (module.dli_fname && *module.dli_fname ? module.dli_fname : "the program"));
  }
  return ncclInvalidUsage;
}

}  // namespace

#define REFUSE()                                  \
  static constinit std::atomic<bool> said{false}; \
  [[maybe_unused]] const ncclResult_t refusal = refuse(__func__, said, __builtin_return_address(0))

ncclResult_t ncclCommWindowRegister(ncclComm_t, void*, size_t, ncclWindow_t*, int) {
  REFUSE();
  return refusal;
}
STANDIN_PROFILING_TWIN(ncclCommWindowRegister);

ncclResult_t ncclCommWindowDeregister(ncclComm_t, ncclWindow_t) {
  REFUSE();
  return refusal;
}
STANDIN_PROFILING_TWIN(ncclCommWindowDeregister);

#pragma GCC visibility push(default)
extern "C" {

ncclResult_t ncclDevCommCreate(ncclComm_t, const void* /*requirements*/, void* /*outDevComm*/) {
  REFUSE();
  return refusal;
}
STANDIN_PROFILING_TWIN(ncclDevCommCreate);

ncclResult_t ncclDevCommDestroy(ncclComm_t, const void* /*devComm*/) {
  REFUSE();
  return refusal;
}
STANDIN_PROFILING_TWIN(ncclDevCommDestroy);

ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam, int /*nBarriers*/, void* /*outHandle*/,
                                             void* /*outReq*/) {
  REFUSE();
  return refusal;
}
STANDIN_PROFILING_TWIN(ncclLsaBarrierCreateRequirement);

ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t, ncclTeam, int, void* /*outHandle*/,
                                             void* /*outReq*/) {
  REFUSE();
  return refusal;
}
STANDIN_PROFILING_TWIN(ncclGinBarrierCreateRequirement);

ncclResult_t ncclLLA2ACreateRequirement(int /*nBlocks*/, int /*nSlots*/, void* /*outHandle*/,
                                        void* /*outReq*/) {
  REFUSE();
  return refusal;
}
STANDIN_PROFILING_TWIN(ncclLLA2ACreateRequirement);

int ncclLLA2ACalcSlots(int /*maxElts*/, int /*maxEltSize*/) {
  REFUSE();
  return 0;
}
STANDIN_PROFILING_TWIN(ncclLLA2ACalcSlots);

ncclTeam ncclTeamWorld(ncclComm_t) {
  REFUSE();
  return {};
}
STANDIN_PROFILING_TWIN(ncclTeamWorld);

ncclTeam ncclTeamLsa(ncclComm_t) {
  REFUSE();
  return {};
}
STANDIN_PROFILING_TWIN(ncclTeamLsa);

ncclTeam ncclTeamRail(ncclComm_t) {
  REFUSE();
  return {};
}
STANDIN_PROFILING_TWIN(ncclTeamRail);

int ncclTeamRankToWorld(ncclComm_t, ncclTeam, int /*rank*/) {
  REFUSE();
  return -1;
}
STANDIN_PROFILING_TWIN(ncclTeamRankToWorld);

int ncclTeamRankToLsa(ncclComm_t, ncclTeam, int /*rank*/) {
  REFUSE();
  return -1;
}
STANDIN_PROFILING_TWIN(ncclTeamRankToLsa);

}  // extern "C"
#pragma GCC visibility pop
