// Streams and events: what makes, orders, queries and awaits them.
#include "injector/cuda/query_call.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT cudaError_t cudaDeviceSynchronize() {
  return order<Call::cudaDeviceSynchronize>(&cudaDeviceSynchronize, {});
}

DDPSCOPE_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return await_stream<Call::cudaStreamSynchronize>(&cudaStreamSynchronize, stream, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return order<Call::cudaEventSynchronize>(&cudaEventSynchronize, {nullptr, event}, event);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return query<Call::cudaStreamQuery>(&cudaStreamQuery, {stream}, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event) {
  return query<Call::cudaEventQuery>(&cudaEventQuery, {nullptr, event}, event);
}

DDPSCOPE_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return order<Call::cudaEventRecord>(&cudaEventRecord, {stream, event}, event, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                     unsigned int flags) {
  return order<Call::cudaEventRecordWithFlags>(&cudaEventRecordWithFlags, {stream, event, flags}, event,
                                               stream, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return order<Call::cudaStreamWaitEvent>(&cudaStreamWaitEvent, {stream, event, flags}, stream, event, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamCreate(cudaStream_t* pStream) {
  return create_stream<Call::cudaStreamCreate>(&cudaStreamCreate, pStream, 0, pStream);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  return create_stream<Call::cudaStreamCreateWithFlags>(&cudaStreamCreateWithFlags, pStream, flags, pStream,
                                                        flags);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags,
                                                         int priority) {
  return create_stream<Call::cudaStreamCreateWithPriority>(&cudaStreamCreateWithPriority, pStream, flags,
                                                           pStream, flags, priority);
}

DDPSCOPE_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return order<Call::cudaStreamDestroy>(&cudaStreamDestroy, {stream}, stream);
}

DDPSCOPE_EXPORT cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return create_event<Call::cudaEventCreate>(&cudaEventCreate, event, 0, event);
}

DDPSCOPE_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return create_event<Call::cudaEventCreateWithFlags>(&cudaEventCreateWithFlags, event, flags, event, flags);
}

DDPSCOPE_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return order<Call::cudaEventDestroy>(&cudaEventDestroy, {nullptr, event}, event);
}

DDPSCOPE_EXPORT cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  return create_event<Call::cudaIpcOpenEventHandle>(&cudaIpcOpenEventHandle, event, 0, event, handle);
}
