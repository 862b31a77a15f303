// What every entry point of NVML does first and last: admission, errors in NVML's terms.
#pragma once

#include <nvml.h>

#include <new>
#include <string_view>

namespace ddpscope::standin::nvml {

/// Ends the current entry point with `result`; thrown and caught inside the library only.
struct Failure {
  nvmlReturn_t result;
};

inline void require(bool condition, nvmlReturn_t otherwise) {
  if (!condition) throw Failure{otherwise};
}

/// Fails with NVML_ERROR_INVALID_ARGUMENT where a pointer that the program gave is null.
template <class... Pointers>
void require_given(const Pointers*... pointers) {
  require(((pointers != nullptr) && ...), NVML_ERROR_INVALID_ARGUMENT);
}

/// Writes `text` and its end. Fails with NVML_ERROR_INVALID_ARGUMENT or NVML_ERROR_INSUFFICIENT_SIZE.
void write_text(char* to, unsigned int length, std::string_view text);

/// Initialisations are counted: NVML is usable until each has been shut down.
void initialise();
void shut_down();            ///< fails with NVML_ERROR_UNINITIALIZED
void require_initialised();  ///< fails with NVML_ERROR_UNINITIALIZED

template <class Body>
nvmlReturn_t guarded(Body&& body) {
  try {
    body();
    return NVML_SUCCESS;
  } catch (const Failure& failure) {
    return failure.result;
  } catch (const std::bad_alloc&) {
    return NVML_ERROR_MEMORY;
  }
}

/// The same for what needs NVML initialised.
template <class Body>
nvmlReturn_t enter(Body&& body) {
  return guarded([&] {
    require_initialised();
    body();
  });
}

}  // namespace ddpscope::standin::nvml
