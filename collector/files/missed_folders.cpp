// Attempts to make files, as looks at their folders.
#include "collector/files/missed_folders.h"

#include <fcntl.h>

#include <cerrno>

namespace ddpscope::files {

std::optional<FileEvent> MissedFolders::look(const FileEvent& attempt) {
  auto folder = folder_of_.find(attempt.name);
  bool makes = attempt.operation == trace::Operation::kMakeDirectory ||
               (attempt.operation == trace::Operation::kOpen && attempt.flags & O_CREAT);
  if (folder == folder_of_.end() || !makes) return std::nullopt;
  auto thread = std::tuple(attempt.event.process, attempt.thread, folder->second);
  if (attempt.error == ENOENT)
    waiting_.insert(thread);
  else if (attempt.error || !waiting_.erase(thread))
    return std::nullopt;
  FileEvent look = attempt;
  look.operation = trace::Operation::kOpen;
  look.name = folder->second;
  look.target = kNoName;
  look.device = look.inode = 0;  // of what was made
  look.flags = O_DIRECTORY;
  look.opening = 0;
  look.aside = false;
  return look;
}

}  // namespace ddpscope::files
