// Records of changed names.
#include "injector/files/name_call.h"

#include "injector/files/created_name.h"
#include "injector/files/meet.h"
#include "injector/files/paths.h"
#include "injector/processes/generation.h"

namespace ddpscope::injector {
namespace {

bool is_given(const char* path) { return reinterpret_cast<std::uintptr_t>(path) >= trace::kPageBytes; }

bool is_ignored_name(const NameArgument& name) {
  if (!is_given(name.path) || name.is_text) return true;
  return with_absolute_path(name.directory, name.path,
                            [](PathText path) { return is_ignored(path.text, path.size); });
}

enum class Gains : bool { kNothing, kFile };  // what the name stands for after the call

std::uint32_t intern_name(trace::FileWriter& file, const NameArgument& name, Gains gains) {
  if (!is_given(name.path)) return 0;
  if (name.is_text) return this_thread.writer.intern(file, name.path);
  return with_absolute_path(name.directory, name.path, [&](PathText path) {
    std::uint64_t hash = trace::hash_bytes(path.text, path.size);
    note_written_name(file, hash);
    if (gains == Gains::kFile) note_seen_rename(hash);
    return this_thread.writer.intern(file, path.text, path.size);
  });
}

}  // namespace

trace::OpenRecord begin_name(const NameRequest& request) {
  if (in_vfork_child()) return {};
  if (is_ignored_name(request.name) && is_ignored_name(request.target)) return {};
  trace::FileWriter* file = recorder(Weight::kOpens);
  OwnWork work(file);
  if (!work) return {};
  trace::payload::FileName payload{};
  payload.path = intern_name(*file, request.name, Gains::kNothing);
  payload.target = intern_name(*file, request.target, Gains::kFile);
  payload.size = request.size;
  payload.count = 1;
  struct stat state;
  if (request.look == LookBefore::kYes && state_of(request.name.directory, request.name.path, &state)) {
    payload.device = state.st_dev;
    payload.inode = state.st_ino;
    payload.size = static_cast<std::uint64_t>(state.st_size);
  }
  std::uint32_t stack = unwound_stack(*file);
  return this_thread.writer.open_in(*file, request.call, trace::Budget::kKept, &payload, sizeof(payload),
                                    now(*file), stack);
}

void end_name(const trace::OpenRecord& record, bool succeeded) {
  auto* payload = results_in<trace::payload::FileName>(record);
  if (!payload) return;
  if (!succeeded) payload->error = errno;
  end(record);
}

void note_new_folder(const trace::OpenRecord& record, NameArgument name) {
  auto* payload = results_in<trace::payload::FileName>(record);
  struct stat state;
  if (!payload || !state_of(name.directory, name.path, &state)) return;
  payload->device = state.st_dev;
  payload->inode = state.st_ino;
}

void name_made(const trace::OpenRecord& record, const char* path) {
  OwnWork work(open_recorder());
  auto* payload = results_in<trace::payload::FileName>(record);
  if (work && payload) payload->path = intern_name(*open_recorder(), {AT_FDCWD, path}, Gains::kNothing);
}

}  // namespace ddpscope::injector
