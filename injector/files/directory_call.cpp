// Records of listings.
#include "injector/files/directory_call.h"

#include "injector/files/meet.h"
#include "injector/files/paths.h"
#include "injector/processes/generation.h"

namespace ddpscope::injector {
namespace {

Directory* known_directory(int fd) {
  Descriptor d = descriptor(fd);
  return d.kind == DescriptorKind::kDirectory ? &directories[d.index] : nullptr;
}

trace::payload::FileName payload_of(trace::FileWriter& file, const Directory& directory) {
  trace::payload::FileName payload{};
  payload.device = directory.device;
  payload.inode = directory.inode;
  payload.path = *directory.text ? this_thread.writer.intern(file, directory.text) : 0;
  return payload;
}

// 0: no link leads to it.
std::uint32_t own_path(trace::FileWriter& file, int fd, PathText named) {
  char* own = static_cast<char*>(__builtin_alloca(trace::kMaxPath));
  std::size_t size = read_descriptor_path(fd, own, trace::kMaxPath);
  bool same = size == named.size && std::memcmp(own, named.text, size) == 0;
  return same || !size ? 0 : this_thread.writer.intern(file, own, size);
}

}  // namespace

Found note_directory(const LookupInProgress& lookup, const DIR* reader, int fd, const char* path) {
  forget_descriptor(fd);
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  struct stat state;
  if (!work || !state_of(fd, &state)) return {};
  Found found{state.st_dev, state.st_ino, 0, 0};
  with_absolute_path(AT_FDCWD, path, [&](PathText absolute) {
    if (is_ignored(absolute.text, absolute.size)) return;
    found.target = own_path(*file, fd, absolute);
    Directory* directory =
        add_directory(*file, fd, state, {absolute.text, absolute.size}, lookup.attempt.began);
    if (!directory) return;
    directory->own_path = found.target;
    directory->told.reader = reader;
  });
  return found;
}

trace::OpenRecord begin_close_directory(Call call, int fd) {
  if (in_vfork_child()) return {};
  trace::OpenRecord record;
  trace::FileWriter* file = open_recorder();
  Directory* directory = file ? known_directory(fd) : nullptr;
  if (OwnWork work(directory ? file : nullptr); work)
    record = open_file_record(*file, call, trace::Budget::kBulk, payload_of(*file, *directory), now(*file));
  forget_descriptor(fd);
  return record;
}

void end_close_directory(const trace::OpenRecord& record, int result) {
  auto* payload = results_in<trace::payload::FileName>(record);
  if (!payload) return;
  payload->count = 1;
  payload->error = result == 0 ? 0 : errno;
  end(record);
}

trace::OpenRecord begin_entry(Call call, int fd) {
  trace::FileWriter* file = recorder(Weight::kFollows);
  Directory* directory = file ? known_directory(fd) : nullptr;
  OwnWork work(directory ? file : nullptr);
  if (!work) return {};
  trace::ThreadWriter& writer = this_thread.writer;
  if (directory->entries.record && directory->entries.record->call == static_cast<std::uint16_t>(call))
    if (trace::OpenRecord again = writer.resume(*file, directory->entries)) return again;
  directory->entries =
      open_file_record(*file, call, trace::Budget::kBulk, payload_of(*file, *directory), now(*file));
  return directory->entries;
}

void end_entry(const trace::OpenRecord& record, bool found) {
  auto* payload = results_in<trace::payload::FileName>(record);
  if (!payload) return;
  payload->count += found;
  end(record);
}

}  // namespace ddpscope::injector
