// The version of the interface, which is the last of CUDA 12. Records are those of CUDA 13: what is newer in
// them stands behind what CUDA 12 has.
#include <cupti_result.h>

#include <cstdint>

extern "C" CUptiResult cuptiGetVersion(std::uint32_t* version) {
  if (!version) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = 26;
  return CUPTI_SUCCESS;
}
