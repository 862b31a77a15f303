// Classifies descriptors, announces openings.
#include "injector/files/meet.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "injector/core/hook.h"
#include "injector/files/paths.h"
#include "injector/files/told_names.h"
#include "injector/processes/generation.h"
#include "injector/streams/exchange_call.h"
#include "injector/streams/stream_io.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

using trace::as_argument;
using trace::raw_syscall;

constexpr std::uint32_t kKeptReadOpens = 10'000;

// Both are only ever too large: a name that was not written may look as if it was, and is kept for nothing.
std::atomic<std::uint64_t> written_names[2048];
std::atomic<std::uint32_t> kept_read_opens;
std::atomic<std::uint32_t> kept_epoch;

std::atomic<std::uint64_t>& written_word(std::uint64_t hash) { return written_names[(hash >> 6) % 2048]; }
// What the parent has written or kept is no matter of a child's: loader workers only read what their rank
// prepared.
void count_anew_after_fork(const trace::FileWriter& file) {
  std::uint32_t epoch = file.epoch() + 1;  // 0: none yet
  if (kept_epoch.exchange(epoch, std::memory_order_relaxed) == epoch) return;
  kept_read_opens = 0;
  for (auto& word : written_names) word.store(0, std::memory_order_relaxed);
}

std::uint64_t written_bit(std::uint64_t hash) { return std::uint64_t{1} << (hash & 63); }

void announce(trace::FileWriter& file, int fd, Opening& opening, int flags) {
  char path[trace::kMaxPath];
  std::size_t size = read_descriptor_path(fd, path, sizeof(path));
  opening.epoch = file.epoch();
  opening.file = record_descriptor(file, fd, opening.device, opening.inode, flags, {path, size});
  opening.kept = true;
}

Descriptor ignore(int fd) {
  Descriptor ignored{DescriptorKind::kIgnored, 0};
  set_descriptor(fd, ignored);
  return ignored;
}

Descriptor meet_file(trace::FileWriter& file, int fd, const struct stat& state) {
  char path[trace::kMaxPath];
  std::size_t size = read_descriptor_path(fd, path, sizeof(path));
  if (size && is_ignored(path, size)) return ignore(fd);
  long flags = raw_syscall(SYS_fcntl, fd, F_GETFL);
  Opening* opening = add_opening(file, fd, state, static_cast<int>(flags));
  if (!opening) return descriptor(fd);
  --opening->given;  // who opened it may have it, too
  long position = raw_syscall(SYS_lseek, fd, 0, SEEK_CUR);
  opening->position = position < 0 ? kUnknownOffset : static_cast<std::uint64_t>(position);
  announce(file, fd, *opening, static_cast<int>(flags));
  return descriptor(fd);
}

Descriptor meet_directory(trace::FileWriter& file, int fd, const struct stat& state) {
  char path[trace::kMaxPath];
  add_directory(file, fd, state, {path, read_descriptor_path(fd, path, sizeof(path))}, 0);
  return descriptor(fd);
}

}  // namespace

bool state_of(int fd, struct stat* state) { return raw_syscall(SYS_fstat, fd, as_argument(state)) == 0; }

bool state_of(int directory, const char* path, struct stat* state) {
  return raw_syscall(SYS_newfstatat, directory, as_argument(path), as_argument(state), AT_SYMLINK_NOFOLLOW) ==
         0;
}

bool find_state(int directory, const char* path, struct stat* state) {
  return raw_syscall(SYS_newfstatat, directory, as_argument(path), as_argument(state),
                     *path ? 0 : AT_EMPTY_PATH) == 0;
}

std::uint32_t record_descriptor(trace::FileWriter& file, int fd, std::uint64_t device, std::uint64_t inode,
                                int flags, std::string_view path) {
  trace::payload::FileOpen payload{};
  payload.file = file.next_file();
  payload.device = device;
  payload.inode = inode;
  payload.path = path.empty() ? 0 : this_thread.writer.intern(file, path.data(), path.size());
  payload.fd = fd;
  payload.flags = static_cast<std::uint32_t>(flags);
  record_moment<Call::inherited_descriptor>(file, payload);
  return payload.file;
}

Descriptor meet_descriptor(trace::FileWriter& file, int fd) {
  struct stat state;
  if (!state_of(fd, &state)) return {DescriptorKind::kUnknown, 0};
  if (S_ISREG(state.st_mode)) return meet_file(file, fd, state);
  if (S_ISDIR(state.st_mode)) return meet_directory(file, fd, state);
  if ((S_ISSOCK(state.st_mode) || S_ISFIFO(state.st_mode)) && !inside_vendor_call())
    return meet_stream(fd, state.st_ino, S_ISFIFO(state.st_mode));
  if (!(state.st_mode & S_IFMT) && !inside_vendor_call()) return meet_event(fd);
  return ignore(fd);
}

void meet_inherited_stream(int fd) {
  struct stat state;
  if (inside_vendor_call() || !state_of(fd, &state)) return;
  if (S_ISSOCK(state.st_mode) || S_ISFIFO(state.st_mode))
    meet_stream(fd, state.st_ino, S_ISFIFO(state.st_mode));
}

Descriptor known_descriptor(trace::FileWriter& file, int fd) {
  Descriptor d = descriptor(fd);
  return d.kind == DescriptorKind::kUnknown ? meet_descriptor(file, fd) : d;
}

Opening* known_opening(trace::FileWriter& file, int fd) {
  Descriptor d = known_descriptor(file, fd);
  if (d.kind != DescriptorKind::kFile) return nullptr;
  Opening& opening = openings[d.index];
  if (opening.epoch != file.epoch())
    announce(file, fd, opening, static_cast<int>(raw_syscall(SYS_fcntl, fd, F_GETFL)));
  return &opening;
}

Opening* add_opening(trace::FileWriter& file, int fd, const struct stat& state, int flags) {
  std::uint32_t index = openings.take();
  if (index == openings.kNone) {
    file.count(trace::Health::file_slots_lost);
    ignore(fd);
    return nullptr;
  }
  Opening& opening = openings[index];
  opening.taken = false;
  opening.writable = (flags & O_ACCMODE) != O_RDONLY;
  opening.append = flags & O_APPEND;
  opening.given = descriptors_given();
  opening.moves.forget();
  opening.gaps = 0;
  opening.digester = 0;
  opening.created = 0;
  opening.device = state.st_dev;
  opening.inode = state.st_ino;
  opening.position = 0;
  opening.epoch = file.epoch();
  opening.reads = opening.writes = {};
  set_descriptor(fd, {DescriptorKind::kFile, index});
  return &opening;
}

Directory* add_directory(trace::FileWriter& file, int fd, const struct stat& state, std::string_view path,
                         std::uint64_t opened) {
  std::uint32_t index = directories.take();
  if (index == directories.kNone) {
    file.count(trace::Health::file_slots_lost);
    ignore(fd);
    return nullptr;
  }
  Directory& directory = directories[index];
  std::size_t size = path.size() < Directory::kRoom ? path.size() : 0;
  std::memcpy(directory.text, path.data(), size);
  directory.text[size] = 0;
  directory.device = state.st_dev;
  directory.inode = state.st_ino;
  directory.entries = {};
  directory.own_path = 0;
  open_listing(directory, opened);
  set_descriptor(fd, {DescriptorKind::kDirectory, index});
  return &directory;
}

bool keep_read_open(const trace::FileWriter& file, std::uint64_t path_hash) {
  count_anew_after_fork(file);
  if (written_word(path_hash).load(std::memory_order_relaxed) & written_bit(path_hash)) return true;
  return kept_read_opens.load(std::memory_order_relaxed) < kKeptReadOpens &&
         kept_read_opens.fetch_add(1, std::memory_order_relaxed) < kKeptReadOpens;
}

void note_written_name(const trace::FileWriter& file, std::uint64_t path_hash) {
  count_anew_after_fork(file);
  written_word(path_hash).fetch_or(written_bit(path_hash), std::memory_order_relaxed);
}

const char* directory_text(int fd) {
  Descriptor d = descriptor(fd);
  if (d.kind != DescriptorKind::kDirectory) return nullptr;
  const char* text = directories[d.index].text;
  return *text ? text : nullptr;
}

}  // namespace ddpscope::injector
