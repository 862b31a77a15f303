// Listing directories.
#pragma once
#include <dirent.h>

#include "injector/files/lookup_call.h"

namespace ddpscope::injector {

// Its descriptor means nothing from here on.
trace::OpenRecord begin_close_directory(Call call, int fd);
void end_close_directory(const trace::OpenRecord& record, int result);

// The descriptor of a directory that was opened by name.
// What was found, links followed.
Found note_directory(int fd, const char* path);

// Entries read one after another are one record a directory.
trace::OpenRecord begin_entry(Call call, int fd);
void end_entry(const trace::OpenRecord& record, bool found);

template <Call call, class RealCall>
inline DIR* recorded_open_directory(const char* path, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  LookupInProgress lookup = begin_lookup(call, {AT_FDCWD, path});
  DIR* directory = real_call();
  int error = directory ? 0 : errno;
  end_lookup(lookup, directory ? note_directory(dirfd(directory), path) : Found{}, error);
  return directory;
}

template <Call call, class RealCall>
inline auto recorded_entry(DIR* directory, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  trace::OpenRecord record = begin_entry(call, dirfd(directory));
  auto entry = real_call();
  end_entry(record, entry != nullptr);
  return entry;
}

// The result is how many entries there are.
template <Call call, class RealCall>
inline int recorded_listing(NameArgument name, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  LookupInProgress lookup = begin_lookup(call, name);
  int entries = real_call();
  end_lookup(lookup, {0, 0, entries > 0 ? static_cast<std::uint64_t>(entries) : 0, 0},
             entries < 0 ? errno : 0);
  return entries;
}

}  // namespace ddpscope::injector
