// Where a path lies, so that equal places are the same file on whichever host they are named.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::files {

// Through which mount of which host a file is seen. Each keeps what it knows of names and sizes to itself.
struct View {
  std::uint32_t host;
  std::string_view mount;  // its point; empty: a disk of the host's own
  auto operator<=>(const View&) const = default;
};

class Places {
 public:
  explicit Places(const model::Job& job);

  // "SOURCE!PATH IN IT" on a network file system ("fuse SOURCE" for one of FUSE), "HOST NUMBER!PATH" on a
  // disk of its own. Sources are compared as they are written: two names of one server are two, so are an
  // export and a folder of it that is mounted by itself.
  std::string of(std::uint32_t process, std::string_view path) const;
  View view(std::uint32_t process, std::string_view path) const;

 private:
  struct Mount {
    std::string point;
    std::string_view type, source;
    std::string root;  // of the file system, what is mounted; "" for all of it

    Mount(std::string_view at, std::string_view value);
  };
  // nullptr if what is mounted deepest there is a disk of the host's own.
  const Mount* shared_mount(std::uint32_t process, std::string_view path) const;

  const model::Job& job_;
  std::vector<std::vector<Mount>> mounts_;  // by process
};

}  // namespace ddpscope::files
