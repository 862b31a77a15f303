// The API's part on collectives with settings of their own (NCCL 2.31): how NCCL is to run them, which says
// nothing of what they do.
#include "standin/nccl/boundary.h"

ncclResult_t ncclAllReduceConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                 ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t*) {
  return ncclAllReduce(sendbuff, recvbuff, count, datatype, op, comm, stream);
}
STANDIN_PROFILING_TWIN(ncclAllReduceConfig);

ncclResult_t ncclBroadcastConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                 int root, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t*) {
  return ncclBroadcast(sendbuff, recvbuff, count, datatype, root, comm, stream);
}
STANDIN_PROFILING_TWIN(ncclBroadcastConfig);

ncclResult_t ncclReduceConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                              ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream,
                              const ncclCollConfig_t*) {
  return ncclReduce(sendbuff, recvbuff, count, datatype, op, root, comm, stream);
}
STANDIN_PROFILING_TWIN(ncclReduceConfig);

ncclResult_t ncclAllGatherConfig(const void* sendbuff, void* recvbuff, size_t sendcount,
                                 ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t*) {
  return ncclAllGather(sendbuff, recvbuff, sendcount, datatype, comm, stream);
}
STANDIN_PROFILING_TWIN(ncclAllGatherConfig);

ncclResult_t ncclReduceScatterConfig(const void* sendbuff, void* recvbuff, size_t recvcount,
                                     ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                     cudaStream_t stream, const ncclCollConfig_t*) {
  return ncclReduceScatter(sendbuff, recvbuff, recvcount, datatype, op, comm, stream);
}
STANDIN_PROFILING_TWIN(ncclReduceScatterConfig);

ncclResult_t ncclAlltoAllConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t*) {
  return ncclAlltoAll(sendbuff, recvbuff, count, datatype, comm, stream);
}
STANDIN_PROFILING_TWIN(ncclAlltoAllConfig);

ncclResult_t ncclGatherConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                              int root, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t*) {
  return ncclGather(sendbuff, recvbuff, count, datatype, root, comm, stream);
}
STANDIN_PROFILING_TWIN(ncclGatherConfig);

ncclResult_t ncclScatterConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                               int root, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t*) {
  return ncclScatter(sendbuff, recvbuff, count, datatype, root, comm, stream);
}
STANDIN_PROFILING_TWIN(ncclScatterConfig);
