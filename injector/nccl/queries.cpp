// NCCL calls that move no data: queries, memory registration, reduction operators.
#include "injector/nccl/recording.h"

using namespace ddpscope::injector;

namespace {

std::uint64_t as_number(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// A query polls: calls with the same answer, one after the other, are one record. status is the answer.
template <Call call, class Answer>
ncclResult_t query(ncclResult_t (*self)(ncclComm_t, Answer*), ncclComm_t communicator, Answer* answer) {
  auto* function = real<call>(self);
  if (!function) return kNoNccl;
  if (inside_vendor_call()) return function(communicator, answer);
  CommunicatorState* known = find_communicator(communicator);
  PayloadOf<call> payload{as_number(communicator), 0, known ? known->number : 0, 0, 0, 0};
  OpenRecord open = begin_folded<call>(Weight::kFollows, as_number(communicator), payload);
  ncclResult_t result;
  {
    VendorCall vendor;
    result = function(communicator, answer);
  }
  if (open && open.epoch == open_epoch()) {
    auto& fields = open.payload<PayloadOf<call>>();
    ++fields.count;
    fields.status = result == ncclSuccess && answer ? static_cast<std::int32_t>(*answer) : 0;
  }
  finish<PayloadOf<call>>(open, result);
  return result;
}

}  // namespace

DDPSCOPE_EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  return query<Call::ncclCommGetAsyncError>(&ncclCommGetAsyncError, comm, asyncError);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return query<Call::ncclCommCount>(&ncclCommCount, comm, count);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return query<Call::ncclCommUserRank>(&ncclCommUserRank, comm, rank);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return query<Call::ncclCommCuDevice>(&ncclCommCuDevice, comm, device);
}

DDPSCOPE_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  auto* function = real<Call::ncclGetUniqueId>(&ncclGetUniqueId);
  if (!function) return kNoNccl;
  if (inside_vendor_call()) return function(uniqueId);
  OpenRecord open = begin<Call::ncclGetUniqueId>(Weight::kOpens, {0, 0, 0, 1, 0, 0});
  VendorCall vendor;
  ncclResult_t result = function(uniqueId);
  if (open && open.epoch == open_epoch() && result == ncclSuccess && uniqueId)
    open.payload<PayloadOf<Call::ncclGetUniqueId>>().argument = id_of(*uniqueId);
  finish<PayloadOf<Call::ncclGetUniqueId>>(open, result);
  return result;
}

DDPSCOPE_EXPORT ncclResult_t ncclMemAlloc(void** ptr, size_t size) {
  return communicator_call<Call::ncclMemAlloc>(&ncclMemAlloc, nullptr, size, ptr, size);
}

DDPSCOPE_EXPORT ncclResult_t ncclMemFree(void* ptr) {
  return communicator_call<Call::ncclMemFree>(&ncclMemFree, nullptr, as_number(ptr), ptr);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle) {
  return communicator_call<Call::ncclCommRegister>(&ncclCommRegister, comm, as_number(buff), comm, buff, size,
                                                   handle);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return communicator_call<Call::ncclCommDeregister>(&ncclCommDeregister, comm, as_number(handle), comm,
                                                     handle);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size,
                                                    ncclWindow_t* win, int winFlags) {
  return communicator_call<Call::ncclCommWindowRegister>(&ncclCommWindowRegister, comm, as_number(buff), comm,
                                                         buff, size, win, winFlags);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  return communicator_call<Call::ncclCommWindowDeregister>(&ncclCommWindowDeregister, comm, as_number(win),
                                                           comm, win);
}

DDPSCOPE_EXPORT ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  return communicator_call<Call::ncclRedOpCreatePreMulSum>(&ncclRedOpCreatePreMulSum, comm, datatype, op,
                                                           scalar, datatype, residence, comm);
}

DDPSCOPE_EXPORT ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return communicator_call<Call::ncclRedOpDestroy>(&ncclRedOpDestroy, comm, op, op, comm);
}
