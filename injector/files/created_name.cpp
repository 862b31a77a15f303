// Compares the name that a new file was made by with the one that it has when it is closed.
#include "injector/files/created_name.h"

#include <limits.h>

#include <string_view>

#include "injector/core/hook.h"
#include "injector/files/meet.h"
#include "injector/files/pool.h"

namespace ddpscope::injector {
namespace {

struct CreatedName {
  static constexpr std::size_t kRoom = 512;
  std::atomic<std::uint32_t> references{};
  std::uint64_t name{};          // hash of the path as the kernel gave it
  std::uint64_t folder{};        // hash of its folder
  std::uint32_t seen_renames{};  // number of the next one when the file was made
  std::uint32_t size{};
  char text[kRoom]{};  // absolute path as the guest gave it: it may lead over links
};

constinit Pool<CreatedName, 256> created_names;

// The last renames that hooks saw.
constexpr std::uint32_t kSeenRenames = 64;
std::atomic<std::uint64_t> seen_renames[kSeenRenames];
std::atomic<std::uint32_t> next_seen_rename;

bool was_seen_since(std::uint32_t first, std::uint64_t path_hash) {
  std::uint32_t end = next_seen_rename.load(std::memory_order_acquire);
  if (end - first > kSeenRenames) return true;  // it may have been
  for (std::uint32_t number = first; number != end; ++number)
    if (seen_renames[number % kSeenRenames].load(std::memory_order_relaxed) == path_hash) return true;
  return false;
}

// With its slash; substr() would throw, which needs a library that the injector must not bring along.
std::string_view folder_of(std::string_view path) { return {path.data(), path.rfind('/') + 1}; }

std::uint64_t hash_of(std::string_view text) { return trace::hash_bytes(text.data(), text.size()); }

}  // namespace

void keep_created_name(Opening& opening, int fd, PathText path) {
  if (path.size > CreatedName::kRoom) return;
  char room[trace::kMaxPath];
  std::string_view name(room, read_descriptor_path(fd, room, sizeof(room)));
  if (name.empty()) return;
  std::uint32_t index = created_names.take();
  if (index == created_names.kNone) return;
  CreatedName& created = created_names[index];
  created.name = hash_of(name);
  created.folder = hash_of(folder_of(name));
  created.seen_renames = next_seen_rename.load(std::memory_order_acquire);
  created.size = static_cast<std::uint32_t>(path.size);
  std::memcpy(created.text, path.text, path.size);
  opening.created = index + 1;
}

void record_unseen_rename(trace::FileWriter& file, Opening& opening, int fd) {
  CreatedName& created = created_names[opening.created - 1];
  char room[trace::kMaxPath];
  std::string_view name(room, read_descriptor_path(fd, room, sizeof(room)));
  if (name.empty() || hash_of(name) == created.name) return;
  if (hash_of(folder_of(name)) != created.folder) return;  // a folder above it may have been renamed
  std::string_view before(created.text, created.size), last = name;
  last.remove_prefix(folder_of(name).size());
  if (last.size() > NAME_MAX) return;
  char target[CreatedName::kRoom + NAME_MAX];
  std::size_t folder = folder_of(before).size(), size = folder + last.size();
  std::memcpy(target, before.data(), folder);
  std::memcpy(target + folder, last.data(), last.size());
  std::uint64_t path_hash = trace::hash_bytes(target, size);
  if (was_seen_since(created.seen_renames, path_hash)) return;
  note_written_name(file, path_hash);
  trace::payload::FileName payload{};
  payload.path = this_thread.writer.intern(file, before.data(), before.size());
  payload.target = this_thread.writer.intern(file, target, size);
  payload.device = opening.device;
  payload.inode = opening.inode;
  payload.count = 1;
  record_moment<Call::rename>(file, payload, unwound_stack(file));
  created.name = hash_of(name);
}

void forget_created_name(Opening& opening) {
  if (opening.created) created_names.release(opening.created - 1);
  opening.created = 0;
}

void note_seen_rename(std::uint64_t path_hash) {
  std::uint32_t number = next_seen_rename.fetch_add(1, std::memory_order_acq_rel);
  seen_renames[number % kSeenRenames].store(path_hash, std::memory_order_relaxed);
}

}  // namespace ddpscope::injector
