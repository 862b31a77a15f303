// Records of exchanges. None changes errno.
#include "injector/streams/exchange_call.h"

#include <string_view>

#include "injector/files/meet.h"
#include "trace/write/raw_syscall.h"
#include "trace/write/text_file.h"

namespace ddpscope::injector {
namespace {

using std::string_view;

// Folder of /proc/self that has an entry for each descriptor, with its number.
struct ProcPath {
  char text[48] = "/proc/self/";
  ProcPath(const char* folder, int fd) {
    char digits[24];
    std::strcat(text, folder);
    std::strcat(text, trace::format_number(digits + sizeof(digits), static_cast<std::uint64_t>(fd)));
  }
};

// Linux 5.2 and later.
std::uint32_t event_id(int fd) {
  char text[256];
  std::size_t size = trace::read_text(ProcPath("fdinfo/", fd).text, text, sizeof(text));
  constexpr string_view kLabel = "eventfd-id:";
  std::size_t at = string_view(text, size).find(kLabel);
  if (at == string_view::npos) return 0;
  std::uint32_t id = 0;
  for (at += kLabel.size(); at < size && (text[at] == ' ' || text[at] == '\t'); ++at) {
  }
  for (; at < size && text[at] >= '0' && text[at] <= '9'; ++at)
    id = id * 10 + static_cast<std::uint32_t>(text[at] - '0');
  return id & ((1u << kIndexBits) - 1);
}

std::uint64_t key_of(Call call, const ExchangeObject& object) {
  return fold_key({object.space, object.id, static_cast<std::uint64_t>(call)}) | 1;
}

// As own work only.
trace::OpenRecord open_exchange(trace::FileWriter& file, Call call, const ExchangeObject& object) {
  trace::payload::Exchange payload{object.space, object.id, 0, object.fd, 0};
  trace::Budget budget = trace::find_call(static_cast<std::uint16_t>(call))->budget;
  return this_thread.writer.open_in(file, call, budget, &payload, sizeof(payload), now(file), 0);
}

}  // namespace

trace::OpenRecord begin_exchange(Call call, Weight weight, const ExchangeObject& object) {
  if (inside_vendor_call() || in_vfork_child()) return {};
  trace::FileWriter* file = recorder(weight);
  OwnWork work(file);
  if (!work) return {};
  std::uint64_t key = key_of(call, object);
  if (trace::OpenRecord again = this_thread.writer.reopen(*file, call, key)) return again;
  trace::OpenRecord record = open_exchange(*file, call, object);
  this_thread.writer.set_fold_key(key);
  return record;
}

// Each would end the other's run: the one that was opened last tells for both whether it goes on.
SemaphoreRecords begin_semaphores(Call call, const ExchangeObject& set) {
  if (inside_vendor_call() || in_vfork_child()) return {};
  trace::FileWriter* file = recorder(Weight::kOpens);
  OwnWork work(file);
  if (!work) return {};
  trace::ThreadWriter& writer = this_thread.writer;
  std::uint64_t key = key_of(call, set);
  if (trace::OpenRecord told = writer.reopen(*file, call, key))
    return {writer.resume(*file, this_thread.semaphores_awaited), told};
  SemaphoreRecords records{open_exchange(*file, Call::semaphore_awaited, set),
                           open_exchange(*file, call, set)};
  this_thread.semaphores_awaited = records.awaited;
  // In two chunks the first may be overwritten before the second.
  if (records.awaited.chunk == records.told.chunk) writer.set_fold_key(key);
  return records;
}

void end_exchange(const trace::OpenRecord& record, bool succeeded) {
  auto* payload = results_in<trace::payload::Exchange>(record);
  if (!payload) return;
  payload->count += succeeded;
  payload->error = succeeded ? 0 : errno;
  end(record);
}

ExchangeObject posix_queue(int queue) {
  struct stat state {};
  if (may_record()) state_of(queue, &state);
  return {trace::kPosixQueue | state.st_dev, state.st_ino, queue};
}

Descriptor meet_event(int fd) {
  char name[32];
  long size = trace::raw_syscall(SYS_readlink, trace::as_argument(ProcPath("fd/", fd).text),
                                 trace::as_argument(name), sizeof(name));
  string_view text(name, size > 0 ? static_cast<std::size_t>(size) : 0);
  Descriptor met{DescriptorKind::kIgnored, 0};
  if (text == "anon_inode:[eventfd]") met = {DescriptorKind::kEvent, event_id(fd)};
  if (text == "anon_inode:inotify") met = {DescriptorKind::kNotices, 0};
  set_descriptor(fd, met);
  return met;
}

trace::OpenRecord begin_event_io(Descriptor d, Direction direction, int fd) {
  if (d.kind == DescriptorKind::kNotices)
    return begin_exchange(Call::inotify_read, Weight::kFollows, {trace::kNotices, 0, fd});
  Call call = direction == Direction::kWrite ? Call::eventfd_write : Call::eventfd_read;
  return begin_exchange(call, Weight::kFollows, {trace::kEventDescriptor, d.index, fd});
}

void note_anonymous_memory(const void* address) {
  end_exchange(
      begin_exchange(Call::anonymous_memory, Weight::kOpens, {trace::kAnonymousMemory, as_number(address)}),
      true);
}

}  // namespace ddpscope::injector
