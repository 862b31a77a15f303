// The API's part on windows and one-sided operations.
#include "standin/nccl/boundary.h"
#include "standin/nccl/creation.h"
#include "standin/nccl/group.h"

using namespace ddpscope::standin::nccl;

namespace {

[[noreturn]] void invalid(const std::string& why) { throw Failure(ncclInvalidArgument, why); }

// Beside the symmetric one: strict ordering, which puts have anyway, and device-initiated networking alone.
constexpr int kWindowFlags = NCCL_WIN_COLL_SYMMETRIC | 2 | 4;

// What NCCL 2.32 knows of them.
void check_reserved(int signal, int context, unsigned flags) {
  if (signal != 0 || context != 0 || flags != 0) invalid("sigIdx, ctx and flags must be 0");
}

void check_peer(const Communicator& communicator, int peer) {
  if (peer < 0 || peer >= communicator.size())
    invalid("invalid peer " + std::to_string(peer) +
            " (comm nRanks = " + std::to_string(communicator.size()) + ")");
}

OneSidedCall put_call(Communicator& communicator, const void* from, std::uint64_t bytes, int peer,
                      const void* handle, std::uint64_t offset) {
  if (Staging::is_on()) throw Failure(ncclInvalidUsage, "one-sided data needs memory that the host reaches");
  OneSided& one_sided = communicator.one_sided();
  const Window& window = one_sided.window(handle);
  const auto* const begin = &required(static_cast<const std::byte*>(from), "localbuff");
  one_sided.holder(begin, bytes);
  const std::uint64_t size = window.sizes[static_cast<std::size_t>(peer)];
  if (!window.symmetric || offset > size || bytes > size - offset)
    invalid("the peer's window does not hold these bytes");
  return {.kind = OneSidedCall::kPut,
          .peer = peer,
          .from = begin,
          .bytes = bytes,
          .window = window.number,
          .offset = offset};
}

}  // namespace

// All ranks register at once. In a group the handle is there when the group ends, as with NCCL.
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                    int winFlags) {
  return guarded(__func__, [&] {
    const auto communicator = find_connected(comm);
    required(static_cast<std::byte*>(buff), "buff");
    required(win, "win");
    if (size == 0 || (winFlags & ~kWindowFlags) != 0) invalid("no such window");
    const bool symmetric = winFlags & NCCL_WIN_COLL_SYMMETRIC;
    group::run(communicator.get(), [=] {
      *win = reinterpret_cast<ncclWindow_t>(&communicator->register_window(buff, size, symmetric));
      return false;
    });
  });
}
STANDIN_PROFILING_TWIN(ncclCommWindowRegister);

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  return guarded(__func__, [&] { find_connected(comm)->one_sided().window(win).registered = false; });
}
STANDIN_PROFILING_TWIN(ncclCommWindowDeregister);

// NCCL 2.29.
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr) {
  return guarded(__func__, [&] {
    required(outUserPtr, "outUserPtr") = find_connected(comm)->one_sided().window(win).buffer;
  });
}
STANDIN_PROFILING_TWIN(ncclWinGetUserPtr);

// NCCL 2.29.
ncclResult_t ncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, cudaStream_t stream) {
  return guarded(__func__, [&] {
    const auto communicator = find_connected(comm);
    const std::size_t element = element_size(datatype);
    if (!element) invalid("invalid type " + std::to_string(datatype));
    check_reserved(sigIdx, ctx, flags);
    check_peer(*communicator, peer);
    const OneSidedCall put =
        put_call(*communicator, localbuff, count * element, peer, peerWin, peerWinOffset);
    group::submit(communicator, stream, {}, {}, {&put, 1});
  });
}
STANDIN_PROFILING_TWIN(ncclPutSignal);

ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t stream) {
  return guarded(__func__, [&] {
    const auto communicator = find_connected(comm);
    check_reserved(sigIdx, ctx, flags);
    check_peer(*communicator, peer);
    const OneSidedCall signal{.kind = OneSidedCall::kPut, .peer = peer};
    group::submit(communicator, stream, {}, {}, {&signal, 1});
  });
}
STANDIN_PROFILING_TWIN(ncclSignal);

ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                            cudaStream_t stream) {
  return guarded(__func__, [&] {
    const auto communicator = find_connected(comm);
    if (nDesc < 1) invalid("nDesc must be positive");
    std::vector<OneSidedCall> waits;
    for (const auto* desc = &required(signalDescs, "signalDescs"); desc != signalDescs + nDesc; ++desc) {
      check_reserved(desc->sigIdx, desc->ctx, 0);
      check_peer(*communicator, desc->peer);
      if (desc->opCnt < 1) invalid("opCnt must be positive");
      waits.push_back({.kind = OneSidedCall::kWait,
                       .peer = desc->peer,
                       .signals = static_cast<std::uint64_t>(desc->opCnt)});
    }
    communicator->one_sided().start();
    group::submit(communicator, stream, {}, {}, waits);
  });
}
STANDIN_PROFILING_TWIN(ncclWaitSignal);
