// Where the C API begins: exceptions become result codes, a forked child is turned away.
#pragma once

#include <cupti_result.h>

#include <new>
#include <system_error>

namespace ddpscope::standin::cupti {

/// Ends the current entry point with `result`; thrown and caught inside the library only.
struct Failure {
  CUptiResult result;
};

inline void require(bool condition, CUptiResult otherwise) {
  if (!condition) throw Failure{otherwise};
}

/// True in a child of a process that had called anything here: neither CUDA nor CUPTI survives a fork.
bool in_forked_child();

/// The library is used from here on. False in such a child.
bool admit();

/// Keeps an error for cuptiGetLastError and hands it back.
CUptiResult record_result(CUptiResult result);
CUptiResult take_last_error();

/// Says once that `what` is not provided. Returns CUPTI_ERROR_NOT_SUPPORTED.
CUptiResult refuse(const char* what);

template <class Body>
CUptiResult guarded(Body&& body) {
  if (!admit()) return CUPTI_ERROR_NOT_INITIALIZED;
  try {
    body();
    return CUPTI_SUCCESS;
  } catch (const Failure& failure) {
    return record_result(failure.result);
  } catch (const std::bad_alloc&) {
    return record_result(CUPTI_ERROR_OUT_OF_MEMORY);
  } catch (const std::system_error&) {
    return record_result(CUPTI_ERROR_UNKNOWN);  // no thread to be had
  }
}

}  // namespace ddpscope::standin::cupti
