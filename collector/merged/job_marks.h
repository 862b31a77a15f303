// Which events findings speak of: by the process, time and call of their evidence, and by the paths of files.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/findings/finding.h"
#include "collector/merged/event.h"
#include "collector/merged/node.h"
#include "collector/merged/outcome_code.h"
#include "collector/model/job.h"

namespace ddpscope::merged {

class JobMarks {
 public:
  JobMarks(const model::Job& job, const findings::Outcome& outcome);

  // Whether evidence names a call of this process that begins then; what it makes of the event.
  std::uint8_t severity_of(std::uint32_t process, std::int64_t begin_ns, std::string_view call) const;
  // After it has its place.
  void note(std::uint32_t process, std::int64_t begin_ns, std::string_view call, EventPlace place);
  // Whether it is a file that a finding is about: accesses are then collected.
  bool is_watched(std::string_view path) const { return watched_.contains(path); }
  void note_access(std::string_view path, std::int64_t begin_ns, EventPlace place);

  const std::vector<Mark>& marks() const { return marks_; }
  Accesses accesses() const;  // each by time

 private:
  struct Named {
    std::int64_t t_ns;
    std::string_view call;  // of the outcome
    std::uint32_t finding, evidence;
    std::uint8_t severity;
  };
  template <class Visit>
  void for_each(std::uint32_t process, std::int64_t begin_ns, std::string_view call, Visit&& visit) const;

  std::vector<std::vector<Named>> named_;  // by process, by time
  std::set<std::string, std::less<>> watched_;
  std::vector<Mark> marks_;
  std::map<std::string, std::vector<std::pair<std::int64_t, EventPlace>>, std::less<>> accesses_;
};

}  // namespace ddpscope::merged
