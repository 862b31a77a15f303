// Calls that look a name or a descriptor up: stat, access, chdir, opening directories.
#pragma once
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <type_traits>

#include "injector/files/attempts.h"
#include "injector/files/name_call.h"

namespace ddpscope::injector {

struct LookupInProgress {
  Attempt attempt;
  Call call;
  std::uint32_t path;   // string id, 0: by descriptor
  NameArgument passed;  // of a process that has no trace yet; else no path
};

// What was found; all 0 when nothing was.
struct Found {
  std::uint64_t device, inode, size;
  std::uint32_t target;  // string id of the folder's own path, if links lead to it
};

// An empty path means the descriptor in `directory` itself.
LookupInProgress begin_lookup(Call call, NameArgument name);
// `error`: 0 or the guest's errno. Keeps errno.
void end_lookup(LookupInProgress& lookup, const Found& found, int error);

// For calls that find a name and do not tell what it means; links are followed. A system call, if recorded.
Found found_at(const LookupInProgress& lookup, NameArgument name);

// A seek to where a file ends asks for its size. Nothing if `fd` is no file.
LookupInProgress begin_size_look(int fd);
void end_size_look(LookupInProgress& lookup, int fd, off_t size, int error);

template <Call call, class RealCall>
inline int recorded_lookup(NameArgument name, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  LookupInProgress lookup = begin_lookup(call, name);
  int result = real_call();
  end_lookup(lookup, {}, result == 0 ? 0 : errno);
  return result;
}

template <Call call, class RealCall>
inline int recorded_access(NameArgument name, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  LookupInProgress lookup = begin_lookup(call, name);
  int result = real_call();
  end_lookup(lookup, result == 0 ? found_at(lookup, name) : Found{}, result == 0 ? 0 : errno);
  return result;
}

template <class State>
inline Found found_in(const State& state) {
  return {static_cast<std::uint64_t>(state.st_dev), state.st_ino, static_cast<std::uint64_t>(state.st_size),
          0};
}

// The result is the length of what the link says.
template <Call call, class RealCall>
inline ssize_t recorded_link(NameArgument name, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  LookupInProgress lookup = begin_lookup(call, name);
  ssize_t length = real_call();
  end_lookup(lookup, {}, length < 0 ? errno : 0);
  return length;
}

// Fields that were not asked for count as 0, as the kernel leaves them.
inline Found found_in(const struct statx& state) {
  return {makedev(state.stx_dev_major, state.stx_dev_minor), state.stx_ino, state.stx_size, 0};
}

// State: struct stat, struct stat64 or struct statx, filled by the call.
template <Call call, class State, class RealCall>
inline int recorded_stat(NameArgument name, const State* state, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  LookupInProgress lookup = begin_lookup(call, name);
  int result = real_call();
  end_lookup(lookup, result == 0 ? found_in(*state) : Found{}, result == 0 ? 0 : errno);
  return result;
}

}  // namespace ddpscope::injector
