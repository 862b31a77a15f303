// Whether a process ended because a call of its failed.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "collector/files/shared_names.h"
#include "collector/model/job.h"
#include "collector/ordering/happens_before.h"

namespace ddpscope::patterns {

class FatalFailures {
 public:
  explicit FatalFailures(const model::Job& job) : job_(job) {}

  // The process ended with an error of its own, or had printed the traceback of one when it was told to end
  // (a launcher may be faster than Python's exit), and the thread of this failed call did nothing after it
  // that a job goes on with: no collective, no message to another process, no file made. A code above 1 with
  // which all ranks end is no error: they agreed to (to be requeued, say).
  bool ended(const files::FileEvent& failed);
  bool ended(const ordering::Span& failed);

 private:
  bool by_itself(const ordering::Span& failed) const;
  bool agreed(std::int32_t exit_code) const;
  std::int64_t last_progress_ns(std::uint32_t process, std::uint16_t thread);

  const model::Job& job_;
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::int64_t> progress_;  // by process and thread
};

}  // namespace ddpscope::patterns
