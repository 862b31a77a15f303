// How errors travel inside the stand-in: thrown here, turned into a result code where the API begins.
#pragma once

#include <nccl.h>

#include <stdexcept>
#include <string>

#include "standin/nccl/signature.h"

namespace ddpscope::standin::nccl {

/// A call that fails: `result` is what the caller gets, what() is what ncclGetLastError says.
class Failure : public std::runtime_error {
 public:
  Failure(ncclResult_t result, const std::string& message) : std::runtime_error(message), result_(result) {}
  ncclResult_t result() const { return result_; }

 private:
  ncclResult_t result_;
};

/// The connection to `rank` ended while something was still expected from it.
struct PeerLost {
  int rank;
};

/// `rank` is in another operation than we are.
struct Mismatch {
  int rank;
  Signature theirs;
  Signature ours;
};

/// The communicator was aborted or revoked while this thread waited.
struct Released {};

}  // namespace ddpscope::standin::nccl
