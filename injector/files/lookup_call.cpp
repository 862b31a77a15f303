// Records of look-ups, folded by name and outcome.
#include "injector/files/lookup_call.h"

#include "injector/files/meet.h"
#include "injector/files/passed_looks.h"
#include "injector/files/paths.h"

namespace ddpscope::injector {
namespace {

void open_new_record(trace::FileWriter& file, LookupInProgress& lookup) {
  trace::payload::FileName payload{};
  payload.path = lookup.path;
  bool told = lookup.path && is_first(file, lookup.call, lookup.attempt.key);
  std::uint32_t stack = told ? current_stack(file) : 0;
  trace::Budget budget = trace::find_call(static_cast<std::uint16_t>(lookup.call))->budget;
  lookup.attempt.record = open_file_record(file, lookup.call, budget, payload, lookup.attempt.began, stack);
}

void begin_by_name(trace::FileWriter& file, PathText path, LookupInProgress* lookup) {
  if (is_ignored(path.text, path.size)) return;
  OwnWork work(&file);
  if (!work) return;
  lookup->path = this_thread.writer.intern(file, path.text, path.size);
  lookup->attempt = join_attempts(file, lookup->call, trace::hash_bytes(path.text, path.size));
  if (!lookup->attempt.record) open_new_record(file, *lookup);
}

// Of files only those whose opening is in the trace.
void begin_by_descriptor(trace::FileWriter& file, int fd, LookupInProgress* lookup) {
  if (const char* text = directory_text(fd)) {
    begin_by_name(file, {text, std::strlen(text)}, lookup);
    return;
  }
  Descriptor d = descriptor(fd);
  if (d.kind != DescriptorKind::kFile) return;
  const Opening& opening = openings[d.index];
  if (!opening.kept || opening.epoch != file.epoch()) return;
  OwnWork work(&file);
  if (!work) return;
  std::uint64_t place[] = {opening.device, opening.inode};
  lookup->attempt = join_attempts(file, lookup->call, trace::hash_bytes(place, sizeof(place)));
  if (!lookup->attempt.record) open_new_record(file, *lookup);
}

bool same_outcome(const trace::payload::FileName& earlier, const Found& found, int error) {
  return earlier.error == error && earlier.device == found.device && earlier.inode == found.inode &&
         earlier.size == found.size && earlier.target == found.target;
}

}  // namespace

LookupInProgress begin_lookup(Call call, NameArgument name) {
  LookupInProgress lookup{};
  lookup.call = call;
  trace::FileWriter* file = recorder(Weight::kFollows);
  if (in_vfork_child() || reinterpret_cast<std::uintptr_t>(name.path) < trace::kPageBytes) return lookup;
  if (!file) {
    lookup.passed = name;
    lookup.attempt.began = begin_passed_look();
    return lookup;
  }
  if (*name.path || name.directory == AT_FDCWD)
    with_absolute_path(name.directory, name.path,
                       [&](PathText path) { begin_by_name(*file, path, &lookup); });
  else
    begin_by_descriptor(*file, name.directory, &lookup);
  return lookup;
}

void end_lookup(LookupInProgress& lookup, const Found& found, int error) {
  if (lookup.passed.path) note_passed_look(lookup.call, lookup.passed, found, error, lookup.attempt.began);
  if (!results_in<trace::payload::FileName>(lookup.attempt.record)) return;
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work) return;
  Attempt& attempt = lookup.attempt;
  if (attempt.end_before && !same_outcome(attempt.record.payload<trace::payload::FileName>(), found, error)) {
    part_attempt(*file, attempt);
    open_new_record(*file, lookup);
    if (!attempt.record) return;
  }
  auto& payload = attempt.record.payload<trace::payload::FileName>();
  ++payload.count;
  payload.device = found.device;
  payload.inode = found.inode;
  payload.size = found.size;
  payload.target = found.target;
  payload.error = error;
  trace::ThreadWriter::close(*file, attempt.record, now(*file));
  start_attempts(attempt);
}

Found found_at(const LookupInProgress& lookup, NameArgument name) {
  struct stat state;
  if (!lookup.attempt.record && !lookup.passed.path) return {};
  return find_state(name.directory, name.path, &state) ? found_in(state) : Found{};
}

LookupInProgress begin_size_look(int fd) {
  if (descriptor(fd).kind != DescriptorKind::kFile) return {};
  return begin_lookup(Call::seek_end, {fd, ""});
}

void end_size_look(LookupInProgress& lookup, int fd, off_t size, int error) {
  Descriptor d = descriptor(fd);
  Found found{};
  if (!error && d.kind == DescriptorKind::kFile)
    found = {openings[d.index].device, openings[d.index].inode, static_cast<std::uint64_t>(size), 0};
  end_lookup(lookup, found, error);
}

}  // namespace ddpscope::injector
