// NCCL calls that move no data: queries, memory registration, reduction operators.
#include "injector/nccl/recording.h"
#include "nccl_newer.h"

using namespace ddpscope::injector;

namespace {

// A query polls: calls with the same answer, one after the other, are one record. status is the answer.
template <Call call, class Answer, class... Params, class... Args>
ncclResult_t query(ncclResult_t (*self)(Params...), ncclComm_t communicator, Answer* answer, Args... args) {
  auto* function = real<call>(self);
  if (!function) return kNoNccl;
  if (inside_vendor_call()) return function(args...);
  ncclResult_t result;
  {
    VendorCall vendor;
    result = function(args...);
  }
  int status = result == ncclSuccess && answer ? static_cast<int>(*answer) : 0;
  CommunicatorState* known = find_communicator(communicator);
  PayloadOf<call> payload{as_number(communicator), 0, known ? known->number : 0, 0, status, 0};
  std::uint64_t key =
      fold_key({payload.handle, static_cast<unsigned>(status), static_cast<unsigned>(result)});
  OpenRecord open = begin_folded<call>(Weight::kFollows, key, payload);
  if (auto* fields = result_of<call>(open)) ++fields->count;
  finish<PayloadOf<call>>(open, result);
  return result;
}

// Questions to the library that say nothing about the job: runs of them are one record.
template <Call call, class Result, class... Params, class... Args>
Result ask_library(Result (*self)(Params...), Result otherwise, Args... args) {
  auto* function = real<call>(self);
  if (!function) return otherwise;
  if (!inside_vendor_call()) end(begin_folded<call>(Weight::kFollows, 0, {}));
  VendorCall vendor;
  return function(args...);
}

}  // namespace

DDPSCOPE_EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  return query<Call::ncclCommGetAsyncError>(&ncclCommGetAsyncError, comm, asyncError, comm, asyncError);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return query<Call::ncclCommCount>(&ncclCommCount, comm, count, comm, count);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return query<Call::ncclCommUserRank>(&ncclCommUserRank, comm, rank, comm, rank);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return query<Call::ncclCommCuDevice>(&ncclCommCuDevice, comm, device, comm, device);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, std::uint64_t* value) {
  return query<Call::ncclCommMemStats>(&ncclCommMemStats, comm, value, comm, stat, value);
}

DDPSCOPE_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  return communicator_call<Call::ncclGetUniqueId>(
      &ncclGetUniqueId, nullptr, [uniqueId] { return id_of(*uniqueId); }, uniqueId);
}

DDPSCOPE_EXPORT ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId) {
  return communicator_call<Call::ncclCommGetUniqueId>(
      &ncclCommGetUniqueId, comm, [uniqueId] { return id_of(*uniqueId); }, comm, uniqueId);
}

DDPSCOPE_EXPORT ncclResult_t ncclMemAlloc(void** ptr, size_t size) {
  return communicator_call<Call::ncclMemAlloc>(
      &ncclMemAlloc, nullptr, [ptr] { return as_number(*ptr); }, ptr, size);
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
  return communicator_call<Call::ncclRedOpCreatePreMulSum>(
      &ncclRedOpCreatePreMulSum, comm, [op] { return static_cast<std::uint64_t>(*op); }, op, scalar, datatype,
      residence, comm);
}

DDPSCOPE_EXPORT ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return communicator_call<Call::ncclRedOpDestroy>(&ncclRedOpDestroy, comm, op, op, comm);
}

DDPSCOPE_EXPORT ncclResult_t ncclGetVersion(int* version) {
  return ask_library<Call::ncclGetVersion>(&ncclGetVersion, kNoNccl, version);
}

DDPSCOPE_EXPORT const char* ncclGetErrorString(ncclResult_t result) {
  const char* otherwise = "NCCL not found";
  return ask_library<Call::ncclGetErrorString>(&ncclGetErrorString, otherwise, result);
}

DDPSCOPE_EXPORT const char* ncclGetLastError(ncclComm_t comm) {
  const char* otherwise = "NCCL not found";
  return ask_library<Call::ncclGetLastError>(&ncclGetLastError, otherwise, comm);
}

// The symbol, not the name: the header calls it deprecated.
DDPSCOPE_EXPORT void reset_debug() __asm__("ncclResetDebugInit");
void reset_debug() {
  auto* function = real<Call::ncclResetDebugInit>(&reset_debug);
  if (!inside_vendor_call()) end(begin_folded<Call::ncclResetDebugInit>(Weight::kFollows, 0, {}));
  if (function) function();
}
