// How a device's UUID is written, in CUDA_VISIBLE_DEVICES and by NVML.
#pragma once

#include <driver_types.h>

#include <cstdio>
#include <string>

namespace ddpscope::standin {

/// "GPU-" and 32 hexadecimal digits in five groups.
inline std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += hex;
  }
  return text;
}

}  // namespace ddpscope::standin
