// Records of closes, duplicates and seeks.
#include "injector/files/descriptor_call.h"

#include "injector/files/created_name.h"
#include "injector/files/io.h"
#include "injector/files/meet.h"
#include "injector/files/newer_calls.h"
#include "injector/files/stamp.h"
#include "injector/files/told_names.h"
#include "injector/processes/generation.h"

namespace ddpscope::injector {
namespace {

// The opening behind a descriptor, if this process's trace knows it.
Opening* kept_opening(const trace::FileWriter* file, int fd) {
  Descriptor d = descriptor(fd);
  if (!file || d.kind != DescriptorKind::kFile) return nullptr;
  Opening& opening = openings[d.index];
  return opening.kept && opening.epoch == file->epoch() ? &opening : nullptr;
}

trace::OpenRecord open_close_record(trace::FileWriter& file, Call call, int fd, const Opening& opening) {
  trace::payload::FileIo payload{};
  payload.file = opening.file;
  payload.fd = fd;
  payload.offset = payload.next = opening.position.load(std::memory_order_relaxed);
  payload.count = 1;
  if (!opening.writable) return open_file_record(file, call, trace::Budget::kBulk, payload, now(file));
  return this_thread.writer.open_in(file, call, trace::Budget::kKept, &payload, sizeof(payload), now(file),
                                    0);
}

}  // namespace

trace::OpenRecord begin_close(Call call, int fd) {
  if (in_vfork_child()) return {};
  trace::OpenRecord record;
  trace::FileWriter* file = open_recorder();
  if (Opening* opening = kept_opening(file, fd)) {
    OwnWork work(file);
    if (work && opening->created) record_unseen_rename(*file, *opening, fd);
    if (work) record = open_close_record(*file, call, fd, *opening);
  } else if (file && descriptor(fd).kind == DescriptorKind::kUnknown) {
    OwnWork work(file);
    if (work) meet_inherited_stream(fd);  // who reads its other end may wait for this
  }
  forget_descriptor(fd);
  return record;
}

trace::OpenRecord begin_close_range(Call call, unsigned first, unsigned last, int flags) {
  if ((flags & CLOSE_RANGE_CLOEXEC) || in_vfork_child()) return {};
  trace::OpenRecord record;
  trace::FileWriter* file = open_recorder();
  if (OwnWork work(file); work) {
    trace::payload::FileIo payload{};
    payload.fd = static_cast<int>(first);
    payload.offset = first;
    payload.next = last;
    payload.count = 1;
    record = open_file_record(*file, call, trace::Budget::kBulk, payload, now(*file));
  }
  forget_descriptors(first, last);
  return record;
}

void end_close(const trace::OpenRecord& record, int result) {
  auto* payload = results_in<trace::payload::FileIo>(record);
  if (!payload) return;
  if (result != 0) payload->error = errno;
  end(record);
}

Opening* appending_opening(int fd) {
  Descriptor d = descriptor(fd);
  if (d.kind != DescriptorKind::kFile) return nullptr;
  Opening& opening = openings[d.index];
  return opening.append ? &opening : nullptr;
}

void note_duplicate(Call call, int fd, int made) {
  if (in_vfork_child()) return;
  share_descriptor(fd, made);
  trace::FileWriter* file = open_recorder();
  Opening* opening = kept_opening(file, made);
  if (!opening) return;
  OwnWork work(file);
  if (!work) return;
  trace::payload::FileIo payload{};
  payload.file = opening->file;
  payload.fd = fd;
  payload.next = static_cast<std::uint64_t>(made);
  payload.count = 1;
  end(open_file_record(*file, call, trace::Budget::kBulk, payload, now(*file)));
}

void note_seek(Call call, int fd, std::uint64_t position) {
  Descriptor d = descriptor(fd);
  if (d.kind == DescriptorKind::kDirectory) forget_listing(fd);
  if (d.kind != DescriptorKind::kFile) return;
  std::uint64_t before = openings[d.index].position.exchange(position, std::memory_order_relaxed);
  trace::FileWriter* file = open_recorder();
  Opening* opening = kept_opening(file, fd);
  if (!opening || before == position) return;  // asking where it is moves nothing
  OwnWork work(file);
  if (!work) return;
  trace::OpenRecord record = this_thread.writer.reopen(*file, call, opening->file);
  if (!record) {
    trace::payload::FileIo payload{};
    payload.file = opening->file;
    payload.fd = fd;
    payload.offset = before;
    record = open_file_record(*file, call, trace::Budget::kBulk, payload, now(*file));
    this_thread.writer.set_fold_key(opening->file);
  }
  if (!record) return;
  auto& payload = record.payload<trace::payload::FileIo>();
  ++payload.count;
  payload.next = position;
  end(record);
}

void note_flags(int fd, intptr_t flags) {
  Descriptor d = descriptor(fd);
  if (d.kind == DescriptorKind::kFile) openings[d.index].append = flags & O_APPEND;
}

}  // namespace ddpscope::injector
