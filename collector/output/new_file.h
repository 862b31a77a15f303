// A file that takes its place whole: until then what had its name stays, and nothing of it is left if it is
// given up.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "trace/result.h"

namespace ddpscope::output {

// Where a symbolic link leads, to a file or to where none is yet: the link stays, what it leads to is
// replaced.
std::filesystem::path target_of(const std::filesystem::path& path);
std::filesystem::path folder_of(const std::filesystem::path& file);
bool is_special(
    const std::filesystem::path& path);  // it exists and is no regular file: a pipe, /dev/null, a folder

// An error if the path leads through a symbolic link that another user left where everyone may write (/tmp):
// to follow it would overwrite a file of ours that the other user chose.
std::optional<Error> find_planted_link(std::string_view what, const std::filesystem::path& path);

// "cannot write WHAT: ...", with what to do. `error`: an errno.
Error cannot_write(std::string_view what, const std::filesystem::path& path, int error);

// A file without a name, which ends with its descriptor. -1: errno tells.
int open_nameless(const std::filesystem::path& folder);

class NewFile {
 public:
  // In the folder of `target`, which is no link. It has no name there where the file system can do that:
  // whoever ends this process leaves nothing behind.
  explicit NewFile(std::filesystem::path target);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&& other) noexcept;
  ~NewFile();  // removes what was not finished

  int fd() const { return fd_; }        // -1: it could not be made
  int error() const { return error_; }  // why; an errno
  // Gives it the target's name, and the mode that open() would have given a new file or that the replaced one
  // had, and closes it. 0, or an errno.
  int finish();
  const std::filesystem::path& target() const { return target_; }
  std::filesystem::path folder() const { return folder_of(target_); }

 private:
  int give_name();

  int fd_ = -1;
  int error_ = 0;
  std::filesystem::path target_;
  std::string fresh_;  // its name for now, empty if it has none
};

// A regular file, or none yet, is replaced whole or stays as it was; where a link leads to it, the link
// stays, and a planted link is not followed (EACCES). Others (a pipe, /dev/stdout) are written as they are.
// 0, or an errno.
int write_file(const std::filesystem::path& path, std::string_view bytes);
// Whatever has that name, a link too, is replaced whole or stays as it was: nothing is followed. 0, or an
// errno.
int replace_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace ddpscope::output
