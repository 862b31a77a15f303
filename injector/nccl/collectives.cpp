// Collectives, point to point and groups.
#include "injector/nccl/recording.h"

using namespace ddpscope::injector;

namespace {

enum class Step { kStart, kEnd };

// The depth before a start and after an end: 0 is the outermost (an end without a start is NCCL's to refuse).
std::uint32_t depth_at(Step step) {
  std::uint32_t depth = this_thread.group_depth;
  return step == Step::kEnd && depth ? depth - 1 : depth;
}

template <Call call, class... Args>
ncclResult_t group(ncclResult_t (*self)(Args...), Step step, Args... args) {
  auto* function = real<call>(self);
  if (!function) return kNoNccl;
  if (inside_vendor_call()) return function(args...);
  std::uint32_t depth = depth_at(step);
  OpenRecord open = begin_regular<call>(Weight::kOpens, {depth, 0});
  VendorCall vendor;
  TimedGroup timed(step == Step::kEnd && depth == 0);
  ncclResult_t result = function(args...);
  this_thread.group_depth = step == Step::kStart ? depth + 1 : depth;
  finish<PayloadOf<call>>(open, result);
  timed.end(call == Call::ncclGroupSimulateEnd ? ncclInvalidUsage : result);
  return result;
}

}  // namespace

DDPSCOPE_EXPORT ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                           cudaStream_t stream) {
  return collective<Call::ncclAllReduce>(&ncclAllReduce,
                                         {comm, count, datatype, stream, recvbuff, static_cast<unsigned>(op)},
                                         sendbuff, recvbuff, count, datatype, op, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return collective<Call::ncclAllGather>(&ncclAllGather, {comm, sendcount, datatype, stream, recvbuff},
                                         sendbuff, recvbuff, sendcount, datatype, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                               cudaStream_t stream) {
  return collective<Call::ncclReduceScatter>(
      &ncclReduceScatter, {comm, recvcount, datatype, stream, recvbuff, static_cast<unsigned>(op)}, sendbuff,
      recvbuff, recvcount, datatype, op, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                                           ncclDataType_t datatype, int root, ncclComm_t comm,
                                           cudaStream_t stream) {
  return collective<Call::ncclBroadcast>(&ncclBroadcast,
                                         {comm, count, datatype, stream, recvbuff, kNoReduction, root},
                                         sendbuff, recvbuff, count, datatype, root, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root,
                                       ncclComm_t comm, cudaStream_t stream) {
  return collective<Call::ncclBcast>(&ncclBcast, {comm, count, datatype, stream, buff, kNoReduction, root},
                                     buff, count, datatype, root, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count,
                                        ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                                        cudaStream_t stream) {
  return collective<Call::ncclReduce>(
      &ncclReduce, {comm, count, datatype, stream, recvbuff, static_cast<unsigned>(op), root}, sendbuff,
      recvbuff, count, datatype, op, root, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count,
                                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream) {
  return collective<Call::ncclAlltoAll>(&ncclAlltoAll, {comm, count, datatype, stream, recvbuff}, sendbuff,
                                        recvbuff, count, datatype, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count,
                                        ncclDataType_t datatype, int root, ncclComm_t comm,
                                        cudaStream_t stream) {
  return collective<Call::ncclGather>(&ncclGather,
                                      {comm, count, datatype, stream, recvbuff, kNoReduction, root}, sendbuff,
                                      recvbuff, count, datatype, root, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count,
                                         ncclDataType_t datatype, int root, ncclComm_t comm,
                                         cudaStream_t stream) {
  return collective<Call::ncclScatter>(&ncclScatter,
                                       {comm, count, datatype, stream, recvbuff, kNoReduction, root},
                                       sendbuff, recvbuff, count, datatype, root, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                                      ncclComm_t comm, cudaStream_t stream) {
  return collective<Call::ncclSend>(&ncclSend, {comm, count, datatype, stream, sendbuff, kNoReduction, peer},
                                    sendbuff, count, datatype, peer, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                                      ncclComm_t comm, cudaStream_t stream) {
  return collective<Call::ncclRecv>(&ncclRecv, {comm, count, datatype, stream, recvbuff, kNoReduction, peer},
                                    recvbuff, count, datatype, peer, comm, stream);
}

DDPSCOPE_EXPORT ncclResult_t ncclGroupStart() {
  return group<Call::ncclGroupStart>(&ncclGroupStart, Step::kStart);
}

DDPSCOPE_EXPORT ncclResult_t ncclGroupEnd() { return group<Call::ncclGroupEnd>(&ncclGroupEnd, Step::kEnd); }

DDPSCOPE_EXPORT ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo) {
  return group<Call::ncclGroupSimulateEnd>(&ncclGroupSimulateEnd, Step::kEnd, simInfo);
}
