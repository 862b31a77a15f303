// Listing directories.
#pragma once
#include <dirent.h>

#include "injector/files/lookup_call.h"
#include "injector/files/told_names.h"

namespace ddpscope::injector {

// Its descriptor means nothing from here on.
trace::OpenRecord begin_close_directory(Call call, int fd);
void end_close_directory(const trace::OpenRecord& record, int result);

// The descriptor of a directory that was opened by name, to be read by this DIR. What was found, links
// followed.
Found note_directory(const LookupInProgress& lookup, const DIR* reader, int fd, const char* path);

// Entries read one after another are one record a directory.
trace::OpenRecord begin_entry(Call call, int fd);
void end_entry(const trace::OpenRecord& record, bool found);

template <Call call, class RealCall>
inline DIR* recorded_open_directory(const char* path, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  LookupInProgress lookup = begin_lookup(call, {AT_FDCWD, path});
  DIR* directory = real_call();
  int error = directory ? 0 : errno;
  end_lookup(lookup, directory ? note_directory(lookup, directory, dirfd(directory), path) : Found{}, error);
  return directory;
}

template <Call call, class RealCall>
inline auto recorded_entry(DIR* directory, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  int fd = dirfd(directory);
  trace::OpenRecord record = begin_entry(call, fd);
  auto entry = told_entry(directory, fd, real_call);
  end_entry(record, entry != nullptr);
  return entry;
}

// real_call returns an error number and puts the entry, or nullptr at the end, where `entry` says.
template <Call call, class Entry, class RealCall>
inline int recorded_copied_entry(DIR* directory, Entry** entry, RealCall real_call) {
  int fd = dirfd(directory);
  trace::OpenRecord record = begin_entry(call, fd);
  ToldNames* told = listing_in_progress(directory, fd);
  int error = real_call();
  const Entry* read = error ? nullptr : *entry;
  if (told) tell_entry(*told, fd, read ? read->d_name : nullptr, error);
  end_entry(record, read != nullptr);
  return error;
}

// The result is how many entries there are. Which ones were filtered out is not known: then nothing is told.
template <Call call, class Entry, class RealCall>
inline int recorded_listing(NameArgument name, Entry*** entries, bool filtered, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  LookupInProgress lookup = begin_lookup(call, name);
  int count = real_call();
  end_lookup(lookup, {0, 0, count > 0 ? static_cast<std::uint64_t>(count) : 0, 0}, count < 0 ? errno : 0);
  ToldNames told;
  if (filtered || count < 0 || !begins_scan(lookup, name, told)) return count;
  for (int i = 0; i < count; ++i) tell_name(told, (*entries)[i]->d_name);
  end_scan(lookup, told);
  return count;
}

}  // namespace ddpscope::injector
