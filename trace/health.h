// Counters of what recording failed to do, made from health.def.
#pragma once
#include <cstdint>

namespace ddpscope::trace {

enum class Health : std::uint8_t {
#define DDPSCOPE_HEALTH(index, name, severity, sentence) name = index,
#include "trace/health.def"
#undef DDPSCOPE_HEALTH
};

struct HealthInfo {
  Health index;
  const char* name;
  const char* severity;  // loss, degraded or note
  const char* sentence;
};

inline constexpr HealthInfo kHealth[] = {
#define DDPSCOPE_HEALTH(index, name, severity, sentence) {Health::name, #name, #severity, sentence},
#include "trace/health.def"
#undef DDPSCOPE_HEALTH
};

}  // namespace ddpscope::trace
