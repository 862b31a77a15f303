// What every entry point of the CUDA runtime does first and last: admission, the thread's last error.
#pragma once

#include <driver_types.h>

#include <new>
#include <system_error>

namespace ddpscope::standin {

/// Ends the current entry point with `code`; thrown and caught inside the library only.
struct Failure {
  cudaError_t code;
};

inline void require(bool condition, cudaError_t otherwise) {
  if (!condition) throw Failure{otherwise};
}

/// Initialises the process on first use. Errors: cudaErrorInitializationError in a child forked after that,
/// cudaErrorNotPermitted inside a host function, cudaErrorNoDevice when no device is visible.
cudaError_t admit();

/// Keeps an error for cudaGetLastError (cudaErrorNotReady too, as CUDA does) and hands it back.
cudaError_t record_error(cudaError_t error);

/// The calling thread's last error; `clear` resets it to cudaSuccess.
cudaError_t last_error(bool clear);

/// From now on every call that is admitted fails with `error`, as after a fault on a device; so does one that
/// is waiting.
void fail_process(cudaError_t error);
cudaError_t process_failure();

/// True in a child forked from a process that had used CUDA: no stream has a thread here.
bool forked_from_user();

/// The process has made a call that needs a device.
bool process_used_runtime();

/// Marks the calling thread as inside a host function, where CUDA calls are not permitted.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
};

/// Runs the body of a function that a program or a library beside this one calls, and turns what it throws
/// into a CUDA error.
template <class Body>
cudaError_t guarded(Body&& body) {
  if (const cudaError_t refused = admit(); refused != cudaSuccess) return refused;
  try {
    const cudaError_t error = body();
    return error == cudaSuccess ? process_failure() : error;
  } catch (const Failure& failure) {
    return failure.code;
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const std::system_error&) {
    return cudaErrorOperatingSystem;  // no thread to be had
  }
}

/// The same for an entry point: the error is recorded.
template <class Body>
cudaError_t enter(Body&& body) {
  return record_error(guarded(body));
}

}  // namespace ddpscope::standin
