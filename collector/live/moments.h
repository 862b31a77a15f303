// What the main thread of a process did about a moment, and when a job came to its end.
#pragma once
#include <cstdint>
#include <optional>

#include "collector/model/job.h"

namespace ddpscope::live {

struct Moment {
  std::optional<model::EventRef> inside;     // the call that it was inside of: none that encloses others
  std::optional<model::EventRef> last;       // the last one begun by then, likewise
  std::optional<model::EventRef> traced;     // the last one with a stack
  std::optional<model::EventRef> traceback;  // the first that it printed afterwards: it was there
};
Moment find_moment(const model::Job& job, std::uint32_t process, std::int64_t at_ns);

// The main thread's first record after that moment tells that another thread ended its wait: that one.
std::optional<std::uint16_t> woken_by(const model::Job& job, std::uint32_t process, std::int64_t at_ns);

bool left_well(const model::Process& process);

// When the first rank ended or was told to: what comes later is a consequence. Of a signal to all (Ctrl-C)
// ranks hear before whoever records it.
struct End {
  std::int64_t at_ns;
  bool told;  // from outside
};
End find_end(const model::Job& job);

}  // namespace ddpscope::live
