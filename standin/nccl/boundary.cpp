// Exceptions to result codes.
#include "standin/nccl/boundary.h"

#include <new>

#include "standin/nccl/failure.h"
#include "standin/nccl/group.h"
#include "standin/nccl/log.h"
#include "standin/nccl/process.h"

namespace ddpscope::standin::nccl {
namespace {

ncclResult_t failed(const char* function, ncclResult_t result, const std::string& why) {
  warn(std::string(function) + " : " + why);
  group::note_failure(result);
  return result;
}

}  // namespace

ncclResult_t refuse_in_forked_child(const char* function) noexcept {
  if (!in_forked_child()) return ncclSuccess;
  return failed(function, ncclUnhandledCudaError, "called in a forked child, where CUDA cannot be used");
}

ncclResult_t result_of_current_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return failed(function, failure.result(), failure.what());
  } catch (const PeerLost& lost) {
    return failed(function, ncclRemoteError,
                  "the connection to rank " + std::to_string(lost.rank) + " is gone");
  } catch (const Mismatch& found) {
    return failed(function, ncclInvalidUsage,
                  "rank " + std::to_string(found.rank) + " is in " + describe(found.theirs) + " instead");
  } catch (const Released&) {
    return failed(function, ncclInternalError, "the communicator was aborted meanwhile");
  } catch (const std::bad_alloc&) {
    return failed(function, ncclSystemError, "out of memory");
  } catch (const std::exception& error) {
    return failed(function, ncclInternalError, error.what());
  }
}

}  // namespace ddpscope::standin::nccl
