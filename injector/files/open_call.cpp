// Records of opens; fills the table of descriptors.
#include "injector/files/open_call.h"

#include "injector/files/created_name.h"
#include "injector/files/descriptors.h"
#include "injector/files/meet.h"
#include "injector/files/passed_looks.h"
#include "injector/files/paths.h"
#include "injector/processes/generation.h"

namespace ddpscope::injector {
namespace {

trace::payload::FileOpen payload_of(const OpenInProgress& open) {
  trace::payload::FileOpen payload{};
  payload.path = open.path;
  payload.fd = -1;
  payload.flags = static_cast<std::uint32_t>(open.request.flags);
  payload.mode = open.request.mode;
  return payload;
}

void open_new_record(trace::FileWriter& file, OpenInProgress& open) {
  auto payload = payload_of(open);
  // Who writes is always told; who reads, at the first time that a path is read from there. To native code
  // all lines of a Python program are one place.
  bool told = is_write_open(open.request.flags) || is_first(file, open.request.call, open.path_hash);
  std::uint32_t stack = told ? unwound_stack(file) : python_place(file);
  open.attempt.record =
      open_file_record(file, open.request.call, trace::Budget::kKept, payload, open.attempt.began, stack);
}

void begin_named(const OpenRequest& request, PathText path, OpenInProgress* open) {
  bool writes = is_write_open(request.flags);
  open->ignored = is_ignored(path.text, path.size);
  if (open->ignored) return;
  trace::FileWriter* file = recorder(writes ? Weight::kOpens : Weight::kFollows);
  OwnWork work(file);
  if (!work) return;
  open->followed = true;
  open->path_hash = trace::hash_bytes(path.text, path.size);
  const bool named = !makes_nameless(request.flags);
  if (writes && named) note_written_name(*file, open->path_hash);
  if (!writes && !keep_read_open(*file, open->path_hash)) return;
  open->path = named ? this_thread.writer.intern(*file, path.text, path.size) : 0;
  open->attempt = join_attempts(*file, request.call, open->path_hash);
  if (!open->attempt.record) open_new_record(*file, *open);
}

// Attempts that fail alike are one record: its descriptor counts them, downwards from -1.
void end_failed(trace::FileWriter& file, OpenInProgress& open, int error) {
  Attempt& attempt = open.attempt;
  if (!attempt.record) return;
  if (attempt.end_before) {
    auto& earlier = attempt.record.payload<trace::payload::FileOpen>();
    if (earlier.error == error) {
      --earlier.fd;
    } else {
      part_attempt(file, attempt);
      open_new_record(file, open);
    }
  }
  if (!attempt.record) return;
  attempt.record.payload<trace::payload::FileOpen>().error = error;
  trace::ThreadWriter::close(file, attempt.record, now(file));
  start_attempts(attempt);
}

// What the descriptor stands for. A file that is left out is looked at no more.
Opening* register_descriptor(trace::FileWriter& file, const OpenInProgress& open, int fd,
                             struct stat* state) {
  forget_descriptor(fd);
  if (!state_of(fd, state)) return nullptr;
  if (S_ISREG(state->st_mode)) return add_opening(file, fd, *state, open.request.flags);
  if (S_ISDIR(state->st_mode) && open.path)
    with_absolute_path(open.request.directory, open.request.path, [&](PathText path) {
      add_directory(file, fd, *state, {path.text, path.size}, open.attempt.began);
    });
  return nullptr;
}

void end_opened(trace::FileWriter& file, OpenInProgress& open, int fd) {
  Attempt& attempt = open.attempt;
  if (attempt.end_before) {  // the earlier attempts failed
    part_attempt(file, attempt);
    open_new_record(file, open);
  }
  forget_attempts(attempt);
  struct stat state {};
  Opening* opening = register_descriptor(file, open, fd, &state);
  if (opening) {
    opening->kept = static_cast<bool>(attempt.record);
    opening->file =
        opening->kept ? file.next_file()
                      : trace::kUnkeptFile | static_cast<std::uint32_t>(open.path_hash & ~trace::kUnkeptFile);
  }
  constexpr int kNew = O_CREAT | O_EXCL;
  if (opening && opening->writable && opening->kept && (open.request.flags & kNew) == kNew)
    with_absolute_path(open.request.directory, open.request.path,
                       [&](PathText path) { keep_created_name(*opening, fd, path); });
  if (!attempt.record) return;
  auto& payload = attempt.record.payload<trace::payload::FileOpen>();
  payload.fd = fd;
  payload.device = state.st_dev;
  payload.inode = state.st_ino;
  if (S_ISFIFO(state.st_mode)) payload.mode |= S_IFIFO;
  payload.file = opening ? opening->file : 0;
  trace::ThreadWriter::close(file, attempt.record, now(file));
  --file_records;  // an opening that succeeds may be the end of a wait
}

// By a process that has no trace yet.
void note_if_pipe(const OpenInProgress& open, int fd) {
  struct stat state;
  if (open.attempt.began && state_of(fd, &state) && S_ISFIFO(state.st_mode))
    note_opened_pipe(open.request, found_in(state), open.attempt.began);
}

}  // namespace

OpenInProgress begin_open(const OpenRequest& request) {
  OpenInProgress open{};
  open.request = request;
  // A path that is no address is the kernel's to refuse.
  if (reinterpret_cast<std::uintptr_t>(request.path) < trace::kPageBytes) return open;
  if (in_vfork_child()) return open;
  Weight reading = reads_as_rank(request) ? Weight::kOpens : Weight::kFollows;
  if (!is_write_open(request.flags) && !recorder(reading)) {
    open.attempt.began = begin_passed_look();
    return open;
  }
  with_absolute_path(request.directory, request.path,
                     [&](PathText path) { begin_named(request, path, &open); });
  return open;
}

void end_open(OpenInProgress& open, int fd) {
  if (!open.followed) {
    if (fd >= 0 && open.ignored) set_descriptor(fd, {DescriptorKind::kIgnored, 0});
    if (fd >= 0 && !open.ignored) {
      forget_descriptor(fd);
      note_if_pipe(open, fd);
    }
    if (awaits_weight() && !is_write_open(open.request.flags))
      note_passed_look(open.request.call, {open.request.directory, open.request.path}, {}, fd < 0 ? errno : 0,
                       open.attempt.began);
    return;
  }
  int error = errno;
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (open.attempt.record && !results_in<trace::payload::FileOpen>(open.attempt.record)) open.attempt = {};
  if (work && fd >= 0) end_opened(*file, open, fd);
  if (work && fd < 0) end_failed(*file, open, error);
}

void name_open(OpenInProgress& open, const char* path) {
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work || !open.followed) return;
  with_absolute_path(AT_FDCWD, path, [&](PathText made) {
    open.path = this_thread.writer.intern(*file, made.text, made.size);
    open.path_hash = trace::hash_bytes(made.text, made.size);
    note_written_name(*file, open.path_hash);
  });
  if (open.attempt.record) open.attempt.record.payload<trace::payload::FileOpen>().path = open.path;
}

int flags_of(const char* mode) {
  bool both = std::strchr(mode, '+') != nullptr;
  bool only = std::strchr(mode, 'x') != nullptr;
  int access = both ? O_RDWR : O_WRONLY;
  if (mode[0] == 'r') return both ? O_RDWR : O_RDONLY;
  return access | O_CREAT | (mode[0] == 'a' ? O_APPEND : O_TRUNC) | (only ? O_EXCL : 0);
}

}  // namespace ddpscope::injector
