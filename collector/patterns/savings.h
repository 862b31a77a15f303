// What a rank writes anew between two moments, and for how much of that time it has to do with it.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "collector/files/written_files.h"
#include "collector/model/job.h"

namespace ddpscope::patterns {

struct Saving {
  std::vector<std::uint32_t> files;  // in the list of written files, by begin
  std::int64_t begin_ns, end_ns;     // from the first opening to the last file's close or rename
  std::int64_t lost_ns;              // of the time that was asked for: what the files take
};

// Where to look.
struct SavingSpan {
  std::uint32_t process;
  std::vector<std::uint16_t> threads;  // that save
  std::int64_t from_ns, to_ns;         // files are opened and closed in between
  std::int64_t still_from_ns;          // from here on their time counts
};

class Savings {
 public:
  Savings(const model::Job& job, const std::vector<files::WrittenFile>& written);

  // Files written anew (made or cut off, not added to). What a file takes are the calls on it, and what is
  // done between them as far as its bytes explain it: at kSlowestPace or faster.
  Saving find(const SavingSpan& stretch);

  // More kernels are launched meanwhile than copies made: it writes down what it computes.
  bool evaluates(std::uint32_t process, const Saving& saving);

  // By that process, to files that it opens anew between the two times, ends included.
  std::uint64_t bytes_anew(std::uint32_t process, std::int64_t from_ns, std::int64_t to_ns) const;
  std::uint64_t bytes_of(const Saving& saving) const;

 private:
  // A call on an opening; or a run of them, folded, of which nobody knows what lay between.
  struct Use {
    std::int64_t from_ns, to_ns;
    bool inside;  // all that time it was in the call
  };
  struct ProcessUse {
    std::map<std::uint32_t, std::vector<Use>> uses;  // by opening
    std::map<std::uint32_t, std::int64_t> closed;    // by opening
    std::map<std::string, std::int64_t> renamed;     // to this path, last
    std::vector<std::int64_t> launches, copies;      // when, ascending
  };

  const ProcessUse& use_of(std::uint32_t process);
  void note_use(std::uint32_t process, const trace::Record& record, ProcessUse& use) const;
  std::int64_t taken_by(const files::WrittenFile& file, std::int64_t from_ns, std::int64_t to_ns);

  const model::Job& job_;
  const std::vector<files::WrittenFile>& written_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> of_process_;  // files
  std::map<std::uint32_t, ProcessUse> uses_;
};

}  // namespace ddpscope::patterns
