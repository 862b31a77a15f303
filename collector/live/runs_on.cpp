// Whether a job that looks over may run on.
#include "collector/live/look.h"
#include "collector/live/machine.h"

namespace ddpscope::live {

// A job of another host, none of whose ranks has ended, may run on while its calls are as recent as this.
constexpr std::int64_t kRecent = 10'000'000'000;

bool may_run_on(const model::Job& job, const trace::Identity& here) {
  std::int64_t since_start =
      now_ns<std::chrono::system_clock>() - static_cast<std::int64_t>(job.start_unix_ns);
  bool ended = false, lives = false, recent = false;
  for (const model::Process& process : job.processes) {
    if (process.role != model::Role::kRank) continue;
    model::Life life = see(process.header(), here);
    ended = ended || process.has_ended();
    lives =
        lives || life == model::Life::kRuns || life == model::Life::kStopped || process.file.ended_since();
    recent = recent || (life == model::Life::kNotAsked && process.last_ns > since_start - kRecent);
  }
  return lives || (recent && !ended);
}

}  // namespace ddpscope::live
