// Ranks that ended because a file was not there which another rank has under the same path on the disk of
// another host.
#pragma once
#include <string_view>
#include <vector>

#include "collector/files/written_files.h"
#include "collector/model/job.h"

namespace ddpscope::patterns {

struct FileElsewhere {
  model::EventRef
      failed;  // the opening, or the listing of a folder, after which the process ended with an error
  std::string_view path;
  const files::WrittenFile* written;  // on another host: the file, or one in that folder
};

// One for each process. Files on storage that hosts share are none, nor are those that a rank of the
// process's own host writes, whenever it does: that host's ranks have a file of their own, and may come too
// early for it.
std::vector<FileElsewhere> find_files_elsewhere(const model::Job& job,
                                                const std::vector<files::WrittenFile>& written);

}  // namespace ddpscope::patterns
