// Which events findings speak of: by the process, time and call of their evidence, and by the paths of files.
// Events are written before anything is found, so both are looked for afterwards.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/findings/finding.h"
#include "collector/merged/event.h"
#include "collector/merged/outcome_code.h"
#include "collector/merged/reader.h"
#include "collector/merged/writer.h"

namespace ddpscope::merged {

// Of the calls that `written` holds, those that evidence names: they are of its process, begin then and have
// that name.
std::vector<Mark> find_marks(const Reader& written, const findings::Outcome& outcome);

// Every access of a file, until it is known which files matter: 24 bytes each, most of them not in memory.
class FileAccesses {
 public:
  explicit FileAccesses(const std::filesystem::path& folder) : noted_(folder, kMemory) {}

  void note(std::string_view path, std::int64_t begin_ns, EventPlace place);
  // Those of the files that findings are about, each by time, with settled places.
  Accesses of(const findings::Outcome& outcome, Writer& writer) const;

 private:
  static constexpr std::size_t kMemory = 8 << 20;
  struct Noted {
    std::int64_t begin_ns;
    std::uint64_t index;
    std::uint32_t track, path;
  };

  template <class Visit>
  int for_each(Visit&& visit) const;  // an errno, 0: none

  std::unordered_map<std::string, std::uint32_t> numbers_;  // of paths
  Spool noted_;
};

}  // namespace ddpscope::merged
