// Functions that came after NCCL 2.28, as its header of version 2.32 declares them. Whether the library has
// them is seen when one is called.
#pragma once
#include <nccl.h>

#include <cstdint>

extern "C" {
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 29, 0)
using ncclCommMemStat_t = int;
struct ncclWaitSignalDesc_t {
  int opCnt;
  int peer;
  int sigIdx;
  int ctx;
};
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);
ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                          ncclComm_t* newcomm, ncclConfig_t* config);
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t ncclCommResume(ncclComm_t comm);
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, std::uint64_t* value);
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);
ncclResult_t ncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t stream);
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                            cudaStream_t stream);
#endif

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 30, 0)
using ncclParamHandle_t = struct ncclParamHandle*;
ncclResult_t ncclParamBind(ncclParamHandle_t* out, const char* key);
ncclResult_t ncclParamGetI8(ncclParamHandle_t h, std::int8_t* out);
ncclResult_t ncclParamGetI16(ncclParamHandle_t h, std::int16_t* out);
ncclResult_t ncclParamGetI32(ncclParamHandle_t h, std::int32_t* out);
ncclResult_t ncclParamGetI64(ncclParamHandle_t h, std::int64_t* out);
ncclResult_t ncclParamGetU8(ncclParamHandle_t h, std::uint8_t* out);
ncclResult_t ncclParamGetU16(ncclParamHandle_t h, std::uint16_t* out);
ncclResult_t ncclParamGetU32(ncclParamHandle_t h, std::uint32_t* out);
ncclResult_t ncclParamGetU64(ncclParamHandle_t h, std::uint64_t* out);
ncclResult_t ncclParamGetStr(ncclParamHandle_t h, const char** out);
ncclResult_t ncclParamGet(ncclParamHandle_t h, void* out, int maxLen, int* len);
ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* valueLen);
ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* tableLen);
void ncclParamDumpAll();
#endif

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 31, 0)
struct ncclCollConfig_t;
ncclResult_t ncclAllReduceConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                 ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t* config);
ncclResult_t ncclBroadcastConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                 int root, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t* config);
ncclResult_t ncclReduceConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                              ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream,
                              const ncclCollConfig_t* config);
ncclResult_t ncclAllGatherConfig(const void* sendbuff, void* recvbuff, size_t sendcount,
                                 ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t* config);
ncclResult_t ncclReduceScatterConfig(const void* sendbuff, void* recvbuff, size_t recvcount,
                                     ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                     cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclAlltoAllConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclGatherConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                              int root, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclScatterConfig(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                               int root, ncclComm_t comm, cudaStream_t stream,
                               const ncclCollConfig_t* config);
#endif

struct ncclCommProperties_t {  // older versions end earlier: `size` says where
  size_t size;
  unsigned int magic;
  unsigned int version;
  int rank;
  int nRanks;
  int cudaDev;
  int nvmlDev;
  bool deviceApiSupport;
  bool multimemSupport;
  int ginType;
  int nLsaTeams;
  bool hostRmaSupport;
  int railedGinType;
  std::uint64_t commHash;
  int ginMinStride;
  int ginConnectionType;
  bool ginSupport[64];
  size_t devCommRuntimeVersionSize;
  bool cftSupport;
  bool cftMulticastSupport;
  bool cftCountedSupport;
};
ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* props);

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 32, 0)
struct ncclEncryptionConfig_t {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int mode;
  const char* psk;
};
ncclResult_t ncclSetEncryption(const ncclEncryptionConfig_t* config);
#endif

// nccl_device.h: its types are for kernels, here they are only passed on.
ncclResult_t ncclDevCommCreate(ncclComm_t comm, const void* requirements, void* outDevComm);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const void* devComm);
}
