// Opening files: what is recorded of it, what the new descriptor stands for.
#pragma once
#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>

#include <type_traits>

#include "injector/files/attempts.h"

namespace ddpscope::injector {

// A request to open a file, as open(2) takes it; streams of stdio state it by their mode.
struct OpenRequest {
  Call call;
  int directory;  // AT_FDCWD, or what a relative path begins at
  const char* path;
  int flags;
  mode_t mode;
};

struct OpenInProgress {
  Attempt attempt;
  OpenRequest request;
  std::uint64_t path_hash;
  std::uint32_t path;  // string id
  bool followed;       // something is recorded: the descriptor is worth knowing
  bool ignored;        // by its path
};

OpenInProgress begin_open(const OpenRequest& request);
// `fd`: what the call gave, negative if it failed (errno says why). Keeps errno.
void end_open(OpenInProgress& open, int fd);

// For calls that choose the name themselves (mkstemp): the record gets the one they made. Before end_open().
void name_open(OpenInProgress& open, const char* path);

// Flags of open(2) that a mode of fopen stands for.
int flags_of(const char* mode);

// Creating or changing, as opposed to looking at.
inline bool is_write_open(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
}

// A file that is in no folder: the path is the folder whose file system it lies on.
inline bool makes_nameless(int flags) { return (flags & O_TMPFILE) == O_TMPFILE; }

// The mode is an argument only of opens that may create.
inline bool takes_mode(int flags) { return (flags & O_CREAT) || makes_nameless(flags); }

template <Call call, class RealOpen>
inline int recorded_open(int directory, const char* path, int flags, mode_t mode, RealOpen real_open) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileOpen>);
  OpenInProgress open = begin_open({call, directory, path, flags, mode});
  int fd = real_open();
  end_open(open, fd);
  return fd;
}

}  // namespace ddpscope::injector
