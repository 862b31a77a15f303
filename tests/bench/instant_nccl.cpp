// A library with NCCL's soname whose functions return at once: what a call takes longer than here is the
// hook's.
#include "tests/bench/instant_nccl.h"

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int, ncclUniqueId, int rank) {
  static char handles[64][64];
  *comm = reinterpret_cast<ncclComm_t>(handles[rank % 64]);
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(ncclComm_t, int* device) {
  *device = 0;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                           cudaStream_t) {
  return ncclSuccess;
}

ncclResult_t bare_all_reduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                             cudaStream_t) {
  return ncclSuccess;
}
