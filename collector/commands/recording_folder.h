// The folder that `run` records into: chosen or named, made, checked, shared with other runs of the same job.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trace/result.h"

namespace ddpscope::commands {

struct RecordingFolder {
  std::filesystem::path path;  // absolute, without links
  bool made = false;           // by us, just now
};

// `named`: what -o says; the folder is made (0700) if it is missing. Without it ./ddpscope.JOB.START, a new
// one; under a launcher that numbers jobs ./ddpscope.ID.STEP.ATTEMPT, the same for all its tasks. Error: it
// cannot be made or written to, or has no room for a single trace.
Result<RecordingFolder> open_recording_folder(const std::optional<std::string>& named,
                                              const std::vector<std::string>& command);

// What is wrong if no further process could begin a trace there.
std::optional<Error> check_room(const std::filesystem::path& folder);

// Several runs may record into one folder, one a rank; who is the last to end sums up. Where the file system
// has no locks, every run takes itself for the only one.
class FolderUse {
 public:
  explicit FolderUse(const std::filesystem::path& folder);
  ~FolderUse();
  FolderUse(const FolderUse&) = delete;
  FolderUse& operator=(const FolderUse&) = delete;

  bool was_first() const { return first_; }  // nobody recorded there when we came
  bool leave();                              // true: nobody else records there any more

 private:
  int fd_;
  bool first_;
};

}  // namespace ddpscope::commands
