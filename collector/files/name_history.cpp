// Replays what the job learns of its names.
#include "collector/files/name_history.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <unordered_set>

namespace ddpscope::files {
namespace {

using trace::Operation;

Name made_by(const FileEvent& event) {
  if (event.error) return kNoName;
  if (event.operation == Operation::kOpen) return event.flags & O_CREAT ? event.name : kNoName;
  if (event.operation == Operation::kMakeDirectory) return event.name;
  bool names = event.operation == Operation::kRename || event.operation == Operation::kLink;
  return names ? event.target : kNoName;
}

// Transfers, the most of all events, neither make nor need a name.
bool concerns_name(Operation operation) {
  return operation == Operation::kOpen ||
         (operation >= Operation::kRename && operation <= Operation::kReadDirectory);
}

}  // namespace

bool is_look(const FileEvent& event) {
  return event.operation == Operation::kOpen || event.operation == Operation::kStat ||
         event.operation == Operation::kAccess;
}

bool is_miss(const FileEvent& event) {
  return is_look(event) && (event.error == ENOENT || event.error == ENOTDIR);
}

bool shares_writes(std::uint64_t protection, std::uint64_t flags) {
  return protection & PROT_WRITE && flags & MAP_SHARED;
}

bool removes(const FileEvent& event) {
  return !event.error && (event.operation == Operation::kRename || event.operation == Operation::kUnlink ||
                          event.operation == Operation::kRemoveDirectory);
}

bool lists(Operation operation) {
  return operation == Operation::kOpenDirectory || operation == Operation::kReadDirectory;
}

void mark_makers(trace::Table<FileEvent>& events) {
  std::unordered_set<Name> exists;
  for (FileEvent& event : events) {
    if (!concerns_name(event.operation)) continue;
    event.made = made_by(event);
    bool exclusive = event.flags & O_EXCL || event.operation == Operation::kLink;
    event.fresh = event.made != kNoName && (exclusive || !exists.contains(event.made));
    if (removes(event) || is_miss(event)) exists.erase(event.name);
    if (is_look(event) && !event.error) exists.insert(event.name);
    if (event.made != kNoName) exists.insert(event.made);
  }
}

}  // namespace ddpscope::files
