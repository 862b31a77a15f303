// Which names a listing tells, of folders that other hosts may see: who finds one there or not may find it
// late. When in doubt (part of it read, by several threads, from another position) nothing is said.
#pragma once
#include <dirent.h>

#include <cerrno>

#include "injector/files/descriptors.h"
#include "injector/files/lookup_call.h"

namespace ddpscope::injector {

// `directory` has just been opened, and began to be so at `opened` (ticks; 0: not known, it does not count).
void open_listing(Directory& directory, std::uint64_t opened);

// By this DIR it is read from here on, if what it is of has been at its start since it was opened.
void read_listing(const DIR* reader, int fd);

// Before its position moves to the start.
void restart_listing(const DIR* reader, int fd);

// Before its position moves elsewhere, or is moved past the hooks. Also of descriptors that are no
// directories.
void forget_listing(int fd);

// Before an entry is read; nullptr: the listing does not count.
ToldNames* listing_in_progress(const DIR* reader, int fd);
// After it: nullptr at the end, or with an error (an errno). Keeps errno.
void tell_entry(ToldNames& told, int fd, const char* name, int error);
void tell_name(ToldNames& told, const char* name);

// Whether a scandir() that has returned is to be told; if so `told` is new.
bool begins_scan(const LookupInProgress& lookup, NameArgument name, ToldNames& told);
void end_scan(const LookupInProgress& lookup, ToldNames& told);

// Runs read_one(), which returns what it has read: a record with a d_name, or nullptr if it has come to the
// end or to an error. Which of them errno tells, if it was 0 before, and the guest may look there, too.
template <class ReadOne>
inline auto told_entry(const DIR* reader, int fd, ReadOne read_one) {
  ToldNames* told = listing_in_progress(reader, fd);
  if (!told) return read_one();
  int before = errno;
  errno = 0;
  auto* entry = read_one();
  tell_entry(*told, fd, entry ? entry->d_name : nullptr, errno);
  if (errno == 0) errno = before;
  return entry;
}

}  // namespace ddpscope::injector
