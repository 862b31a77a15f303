// Advisory locks on files.
#pragma once
#include <fcntl.h>

#include <type_traits>

#include "injector/core/hook.h"

namespace ddpscope::injector {

// `operation` as in the call; `start` is the first byte of the range, 0 for the whole file.
trace::OpenRecord begin_lock(Call call, int fd, int operation, std::uint64_t start);
void end_lock(const trace::OpenRecord& record, int result);

template <Call call, class RealCall>
inline int recorded_lock(int fd, int operation, std::uint64_t start, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileLock>);
  trace::OpenRecord record = begin_lock(call, fd, operation, start);
  int result = real_call();
  end_lock(record, result);
  return result;
}

// Of fcntl's commands those that take, try or give back a lock.
inline bool is_lock_command(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

// fcntl's lock: `argument` is the guest's struct flock.
template <class RealCall>
inline int recorded_record_lock(int fd, const void* argument, RealCall real_call) {
  if (!argument) return real_call();
  const auto& range = *static_cast<const struct flock*>(argument);
  return recorded_lock<Call::fcntl_lock>(fd, range.l_type, static_cast<std::uint64_t>(range.l_start),
                                         real_call);
}

}  // namespace ddpscope::injector
