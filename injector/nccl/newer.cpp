// Hooks for functions that came after NCCL 2.28: configured collectives, one-sided data, suspended
// communicators.
#include "nccl_newer.h"

#include "injector/nccl/recording.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT ncclResult_t ncclAllReduceConfig(const void* sendbuff, void* recvbuff, size_t count,
                                                 ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  return collective<Call::ncclAllReduceConfig>(
      &ncclAllReduceConfig, {comm, count, datatype, stream, recvbuff, static_cast<unsigned>(op)}, sendbuff,
      recvbuff, count, datatype, op, comm, stream, config);
}

DDPSCOPE_EXPORT ncclResult_t ncclBroadcastConfig(const void* sendbuff, void* recvbuff, size_t count,
                                                 ncclDataType_t datatype, int root, ncclComm_t comm,
                                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  return collective<Call::ncclBroadcastConfig>(
      &ncclBroadcastConfig, {comm, count, datatype, stream, recvbuff, kNoReduction, root}, sendbuff, recvbuff,
      count, datatype, root, comm, stream, config);
}

DDPSCOPE_EXPORT ncclResult_t ncclReduceConfig(const void* sendbuff, void* recvbuff, size_t count,
                                              ncclDataType_t datatype, ncclRedOp_t op, int root,
                                              ncclComm_t comm, cudaStream_t stream,
                                              const ncclCollConfig_t* config) {
  return collective<Call::ncclReduceConfig>(
      &ncclReduceConfig, {comm, count, datatype, stream, recvbuff, static_cast<unsigned>(op), root}, sendbuff,
      recvbuff, count, datatype, op, root, comm, stream, config);
}

DDPSCOPE_EXPORT ncclResult_t ncclAllGatherConfig(const void* sendbuff, void* recvbuff, size_t sendcount,
                                                 ncclDataType_t datatype, ncclComm_t comm,
                                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  return collective<Call::ncclAllGatherConfig>(&ncclAllGatherConfig,
                                               {comm, sendcount, datatype, stream, recvbuff}, sendbuff,
                                               recvbuff, sendcount, datatype, comm, stream, config);
}

DDPSCOPE_EXPORT ncclResult_t ncclReduceScatterConfig(const void* sendbuff, void* recvbuff, size_t recvcount,
                                                     ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                                     cudaStream_t stream, const ncclCollConfig_t* config) {
  return collective<Call::ncclReduceScatterConfig>(
      &ncclReduceScatterConfig, {comm, recvcount, datatype, stream, recvbuff, static_cast<unsigned>(op)},
      sendbuff, recvbuff, recvcount, datatype, op, comm, stream, config);
}

DDPSCOPE_EXPORT ncclResult_t ncclAlltoAllConfig(const void* sendbuff, void* recvbuff, size_t count,
                                                ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                                const ncclCollConfig_t* config) {
  return collective<Call::ncclAlltoAllConfig>(&ncclAlltoAllConfig, {comm, count, datatype, stream, recvbuff},
                                              sendbuff, recvbuff, count, datatype, comm, stream, config);
}

DDPSCOPE_EXPORT ncclResult_t ncclGatherConfig(const void* sendbuff, void* recvbuff, size_t count,
                                              ncclDataType_t datatype, int root, ncclComm_t comm,
                                              cudaStream_t stream, const ncclCollConfig_t* config) {
  return collective<Call::ncclGatherConfig>(&ncclGatherConfig,
                                            {comm, count, datatype, stream, recvbuff, kNoReduction, root},
                                            sendbuff, recvbuff, count, datatype, root, comm, stream, config);
}

DDPSCOPE_EXPORT ncclResult_t ncclScatterConfig(const void* sendbuff, void* recvbuff, size_t count,
                                               ncclDataType_t datatype, int root, ncclComm_t comm,
                                               cudaStream_t stream, const ncclCollConfig_t* config) {
  return collective<Call::ncclScatterConfig>(&ncclScatterConfig,
                                             {comm, count, datatype, stream, recvbuff, kNoReduction, root},
                                             sendbuff, recvbuff, count, datatype, root, comm, stream, config);
}

DDPSCOPE_EXPORT ncclResult_t ncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype,
                                           int peer, ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx,
                                           int ctx, unsigned int flags, ncclComm_t comm,
                                           cudaStream_t stream) {
  return collective<Call::ncclPutSignal>(
      &ncclPutSignal, {comm, count, datatype, stream, localbuff, kNoReduction, peer}, localbuff, count,
      datatype, peer, peerWin, peerWinOffset, sigIdx, ctx, flags, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                                        cudaStream_t stream) {
  return collective<Call::ncclSignal>(&ncclSignal, {comm, 0, ncclInt8, stream, nullptr, kNoReduction, peer},
                                      peer, sigIdx, ctx, flags, comm, stream);
}

// One record: how many signals are waited for, and of whom; of several peers none is named.
DDPSCOPE_EXPORT ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                                            cudaStream_t stream) {
  int peer = nDesc > 0 && signalDescs ? signalDescs[0].peer : -1;
  std::size_t signals = 0;
  for (int i = 0; signalDescs && i < nDesc; ++i) {
    signals += signalDescs[i].opCnt > 0 ? static_cast<std::size_t>(signalDescs[i].opCnt) : 0;
    if (signalDescs[i].peer != peer) peer = -1;
  }
  return collective<Call::ncclWaitSignal>(&ncclWaitSignal,
                                          {comm, signals, ncclInt8, stream, nullptr, kNoReduction, peer},
                                          nDesc, signalDescs, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags) {
  return communicator_call<Call::ncclCommSuspend>(&ncclCommSuspend, comm, static_cast<unsigned>(flags), comm,
                                                  flags);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommResume(ncclComm_t comm) {
  return communicator_call<Call::ncclCommResume>(&ncclCommResume, comm, 0, comm);
}

DDPSCOPE_EXPORT ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr) {
  return communicator_call<Call::ncclWinGetUserPtr>(&ncclWinGetUserPtr, comm, as_number(win), comm, win,
                                                    outUserPtr);
}

DDPSCOPE_EXPORT ncclResult_t ncclDevCommCreate(ncclComm_t comm, const void* requirements, void* outDevComm) {
  return communicator_call<Call::ncclDevCommCreate>(&ncclDevCommCreate, comm, as_number(outDevComm), comm,
                                                    requirements, outDevComm);
}

DDPSCOPE_EXPORT ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const void* devComm) {
  return communicator_call<Call::ncclDevCommDestroy>(&ncclDevCommDestroy, comm, as_number(devComm), comm,
                                                     devComm);
}
