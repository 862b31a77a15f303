// Closing, duplicating and positioning descriptors: keeps the table right, records what happens to files.
#pragma once
#include <fcntl.h>
#include <stdint.h>
#include <sys/types.h>

#include <type_traits>

#include "injector/core/hook.h"
#include "injector/files/descriptors.h"
#include "injector/files/lock_call.h"
#include "injector/files/lookup_call.h"

namespace ddpscope::injector {

// The descriptor means nothing from here on; the record is of a file's.
trace::OpenRecord begin_close(Call call, int fd);
trace::OpenRecord begin_close_range(Call call, unsigned first, unsigned last, int flags);
void end_close(const trace::OpenRecord& record, int result);

// Whose position is about to move, if it matters: see Moves.
Opening* appending_opening(int fd);

void note_duplicate(Call call, int fd, int made);
void note_seek(Call call, int fd, std::uint64_t position);
void note_flags(int fd, intptr_t flags);

template <Call call>
constexpr bool kIsFileIo = std::is_same_v<PayloadOf<call>, trace::payload::FileIo>;

template <Call call, class RealCall>
inline int recorded_close(int fd, RealCall real_call) {
  static_assert(kIsFileIo<call>);
  trace::OpenRecord record = begin_close(call, fd);
  int result = real_call();
  end_close(record, result);
  return result;
}

template <Call call, class RealCall>
inline int recorded_close_range(unsigned first, unsigned last, int flags, RealCall real_call) {
  static_assert(kIsFileIo<call>);
  trace::OpenRecord record = begin_close_range(call, first, last, flags);
  int result = real_call();
  end_close(record, result);
  return result;
}

template <Call call, class RealCall>
inline int recorded_duplicate(int fd, RealCall real_call) {
  static_assert(kIsFileIo<call>);
  int made = real_call();
  if (made >= 0) note_duplicate(call, fd, made);
  return made;
}

template <Call call, class RealCall>
inline off_t recorded_seek(int fd, off_t offset, int whence, RealCall real_call) {
  static_assert(kIsFileIo<call>);
  Opening* appending = appending_opening(fd);
  LookupInProgress look{};
  if (whence == SEEK_END) look = begin_size_look(fd);
  if (appending) appending->moves.begin();
  off_t position = real_call();
  if (appending) appending->moves.end();
  if (whence == SEEK_END) end_size_look(look, fd, position - offset, position < 0 ? errno : 0);
  if (position >= 0) note_seek(call, fd, static_cast<std::uint64_t>(position));
  return position;
}

template <Call call, class RealCall>
inline int recorded_control(int fd, int command, void* argument, RealCall real_call) {
  if (is_lock_command(command)) return recorded_record_lock(fd, argument, real_call);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) return recorded_duplicate<call>(fd, real_call);
  int result = real_call();
  if (command == F_SETFL && result == 0) note_flags(fd, reinterpret_cast<intptr_t>(argument));
  return result;
}

}  // namespace ddpscope::injector
